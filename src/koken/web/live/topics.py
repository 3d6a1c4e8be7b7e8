"""What can be watched: each topic has a name, and a look that says whether it has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from koken.store.database import Transaction
from koken.views import fingerprints


class Topic(Protocol):
    """Equal topics are looked at once, however many follow them."""

    @property
    def key(self) -> str:
        """Its name, as ``/live`` takes it."""

    async def look(self, session: Transaction) -> str:
        """A fingerprint: another text when it has changed, empty where there is no such thing."""


@dataclass(frozen=True, slots=True)
class OfRun:
    """A run and the tree that it is part of."""

    run_id: int

    @property
    def key(self) -> str:
        """``run:412``."""
        return f"run:{self.run_id}"

    async def look(self, session: Transaction) -> str:
        """States, progress, waits, questions, events; not the lines of its log."""
        return await fingerprints.of_run(session, self.run_id)


@dataclass(frozen=True, slots=True)
class OfLog:
    """The lines of a run and of all below it."""

    run_id: int

    @property
    def key(self) -> str:
        """``log:412``."""
        return f"log:{self.run_id}"

    async def look(self, session: Transaction) -> str:
        """The last lines, and which runs have ended."""
        return await fingerprints.of_log(session, self.run_id)


@dataclass(frozen=True, slots=True)
class OfWorkspace:
    """All that lists of a workspace show."""

    name: str

    @property
    def key(self) -> str:
        """``workspace:default``."""
        return f"workspace:{self.name}"

    async def look(self, session: Transaction) -> str:
        """Runs, jobs, schedules, events, and the queues and workers that it shares."""
        return await fingerprints.of_workspace(session, self.name)


@dataclass(frozen=True, slots=True)
class OfEvents:
    """What people did in a workspace."""

    name: str

    @property
    def key(self) -> str:
        """``events:default``."""
        return f"events:{self.name}"

    async def look(self, session: Transaction) -> str:
        """The last events."""
        return await fingerprints.of_events(session, self.name)


@dataclass(frozen=True, slots=True)
class OfAccess:
    """Who may come in, and what they may do."""

    @property
    def key(self) -> str:
        """``access``."""
        return "access"

    async def look(self, session: Transaction) -> str:
        """People, their roles, sessions and tokens; not when they were used."""
        return await fingerprints.of_access(session)
