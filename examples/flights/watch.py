"""What happens in the database, as it happens: one fact after the other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken import AsyncClient, Run
from koken.views import runs, ticks
from koken.views.runs import AttemptRow
from koken.views.ticks import TickRow

GLANCE = 0.15
"""Seconds between two looks."""


@dataclass(frozen=True, slots=True)
class Ticked:
    """A schedule was due."""

    tick: TickRow


@dataclass(frozen=True, slots=True)
class Taken:
    """A worker has begun an attempt."""

    run: Run[Any]
    attempt: AttemptRow


@dataclass(frozen=True, slots=True)
class Going:
    """A body says how far it is."""

    run: Run[Any]


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt is over; what became of the run stands in the run."""

    run: Run[Any]
    attempt: AttemptRow


Fact = Ticked | Taken | Going | Tried


class Watcher:
    """Tells the facts about one job, each once."""

    def __init__(self, client: AsyncClient, job: str) -> None:
        self.client = client
        self.views = client.link.views
        self.job = job
        self.ticked: set[datetime] = set()
        self.told: set[tuple[int, int, str]] = set()
        self.shown: dict[int, str] = {}
        self.ended: set[int] = set()

    async def look(self) -> list[Fact]:
        """What has happened since the last look, the oldest first."""
        return [*await self.ticks(), *await self.moves()]

    async def ticks(self) -> list[Ticked]:
        """Due times that were not told yet."""
        rows = await ticks.ticks(
            self.views, job=self.job, workspace=self.client.workspace, limit=20
        )
        fresh = [row for row in reversed(rows) if row.due_at not in self.ticked]
        self.ticked.update(row.due_at for row in fresh)
        return [Ticked(row) for row in fresh]

    async def moves(self) -> list[Fact]:
        """What became of runs since the last look."""
        found: list[Fact] = []
        for run in reversed(await self.client.find(f"job:{self.job}", limit=20)):
            if run.id not in self.ended:
                found += await self.moves_of(run)
        return found

    async def moves_of(self, run: Run[Any]) -> list[Fact]:
        """What became of one run."""
        found: list[Fact] = []
        for attempt in await runs.attempts(self.views, run.id):
            if self.first((run.id, attempt.lease, "taken")):
                found.append(Taken(run, attempt))
            if attempt.outcome != "running" and self.first((run.id, attempt.lease, "tried")):
                found.append(Tried(await self.client.get(run), attempt))
        if not found and run.progress.message != self.shown.get(run.id, ""):
            self.shown[run.id] = run.progress.message
            found.append(Going(run))
        if run.state.ended:
            self.ended.add(run.id)
        return found

    def first(self, fact: tuple[int, int, str]) -> bool:
        """Whether this was never told before."""
        if fact in self.told:
            return False
        self.told.add(fact)
        return True
