"""A thing that goes on in the background until it is stopped: the contract of all services.

``start`` returns when the loop exists. ``stop`` returns when it has truly ended; twice is fine,
and so is before the start. A service does its one verb in ``turn``, which says how long to rest;
``ring`` ends the rest. A turn that fails is logged and tried again: it costs a rest, no more.
"""

from __future__ import annotations

import asyncio
import logging
import random
from abc import ABC, abstractmethod

from koken.errors import DatabaseUnreachable

LONGEST_REST = 60.0
"""Seconds."""
FIRST_PENANCE = 0.2
"""Seconds of rest after the first failed turn; doubles up to ``LONGEST_PENANCE``."""
LONGEST_PENANCE = 5.0


class Service(ABC):
    """One component, one loop, one verb."""

    name = "service"

    def __init__(self) -> None:
        self.bell = asyncio.Event()
        self.stopping = False
        self.task: asyncio.Task[None] | None = None
        self.failures = 0
        self.logger = logging.getLogger(f"koken.{self.name}")

    @abstractmethod
    async def turn(self) -> float:
        """Do the verb once; returns how many seconds to rest, 0 for none."""

    async def start(self) -> None:
        """Begin; a second start does nothing."""
        if self.task is None and not self.stopping:
            self.task = asyncio.create_task(self.live(), name=f"koken {self.name}")

    async def stop(self) -> None:
        """End after the turn at hand; returns when it has ended."""
        self.stopping = True
        self.ring()
        if self.task is not None:
            await asyncio.wait({self.task})

    def ring(self) -> None:
        """There is something to do: end the rest."""
        self.bell.set()

    async def live(self) -> None:
        """Turn after turn, until stopped."""
        while not self.stopping:
            self.bell.clear()
            rest = await self.guarded_turn()
            if rest > 0 and not self.stopping:
                await self.rest(rest)

    async def guarded_turn(self) -> float:
        """One turn; what fails is told once it begins to, and costs a growing rest."""
        try:
            rest = await self.turn()
        except DatabaseUnreachable as error:
            if self.failures == 0:
                self.logger.warning("%s", error)
        except Exception:
            self.logger.exception("%s failed; it goes on", self.name)
        else:
            if self.failures:
                self.logger.info("%s works again", self.name)
                self.failures = 0
            return rest
        self.failures += 1
        longest = min(FIRST_PENANCE * 2 ** min(self.failures - 1, 10), LONGEST_PENANCE)
        return float(longest * random.uniform(0.5, 1.0))

    async def rest(self, seconds: float) -> None:
        """Until the bell, or so long."""
        if self.bell.is_set():
            return
        timer = asyncio.get_running_loop().call_later(min(seconds, LONGEST_REST), self.bell.set)
        try:
            await self.bell.wait()
        finally:
            timer.cancel()
