"""What the bench asks of a system: tables, a producer, a worker, and how far the work is."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from typing import Any, ClassVar, Protocol

from bench.tally import Tally

BATCH = 1000
"""Jobs of one bulk start."""
LINKS = 10
"""Steps of a chain."""


class Producer(Protocol):
    """Starts jobs of one database, the way that the system recommends."""

    async def start(self, sent: int) -> None:
        """Start a job whose body calls ``tally.arrive(sent)``."""

    async def start_many(self, count: int) -> None:
        """Start jobs whose body calls ``tally.add()``, all of them at once where that exists."""

    async def close(self) -> None:
        """Let go of the connections."""


class Chainer(Producer, Protocol):
    """A producer that starts chains as well."""

    async def start_chains(self, kind: str, count: int, sent: int) -> None:
        """Start chains of ``LINKS`` steps, each with ``tally.link(left, sent)`` for a body."""


class System(ABC):
    """A queue of jobs on PostgreSQL."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()
    """Whose versions are noted."""
    settings: ClassVar[str]
    """How it is set up, for people."""
    share: ClassVar[float] = 1.0
    """Of a backlog that this system gets, so that a slow one does not take all the time."""

    backlog: ClassVar[str]
    """SQL: whether any job is not finished for good."""
    finished: ClassVar[str]
    """SQL: how many jobs are finished and remembered."""
    forget: ClassVar[str]
    """SQL: remove all jobs and what is remembered of them."""
    chains: ClassVar[tuple[str, ...]] = ()
    """The kinds of chains that it has: ``jobs``, each of which starts the next, ``graph``, ``body``
    (steps within a body). The first one is compared."""
    history: ClassVar[str | None] = None
    """SQL: ``$1`` jobs as they stand when they have succeeded."""
    statements: ClassVar[Mapping[str, str]] = {}
    """Patterns (LIKE) of the statements that ``neighbour`` watches: ``claim``, and others."""

    @abstractmethod
    async def install(self, url: str) -> None:
        """Make the tables."""

    @abstractmethod
    async def producer(self, url: str) -> Producer:
        """Connect somebody who starts jobs."""

    @abstractmethod
    async def work(self, url: str, tally: Tally, stop: asyncio.Event) -> None:
        """Be a worker until ``stop``, as its own command would be."""

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        """Run a worker's loop."""
        asyncio.run(main)


async def one_by_one(producer: Producer, count: int) -> None:
    """A bulk start for systems that have none."""
    for _ in range(count):
        await producer.start(0)
