"""Writes what bodies keep, print and show: everything that waits goes into one commit."""

from __future__ import annotations

import asyncio
import time
from collections import deque

from koken.engine.record import Keeping, Line, Showing, record
from koken.errors import LeaseLost
from koken.runtime.service import LONGEST_REST, Service
from koken.store.database import Database

BATCH = 1000
LINE_PAUSE = 0.2
"""Seconds that printed lines may wait for company."""
MOST_LINES = 50_000
"""Lines that may wait in memory while the database is away; then the oldest go."""


class Recorder(Service):
    """One writer for all bodies of a worker."""

    name = "recorder"

    def __init__(self, db: Database) -> None:
        super().__init__()
        self.db = db
        self.keepings: deque[tuple[Keeping, asyncio.Future[str]]] = deque()
        self.lines: deque[Line] = deque(maxlen=MOST_LINES)
        self.showings: dict[int, Showing] = {}
        self.added = 0
        self.written = 0
        self.waiters: list[tuple[int, asyncio.Future[None]]] = []
        self.timer: asyncio.TimerHandle | None = None

    def add_line(self, line: Line) -> None:
        """Keep a line soon. On the worker's loop only."""
        if len(self.lines) == MOST_LINES:
            self.written += 1  # the oldest goes: nobody waits for it
        self.lines.append(line)
        self.added += 1
        if len(self.lines) >= BATCH:
            self.ring()
        else:
            self.ring_soon()

    def show(self, showing: Showing) -> None:
        """Show how far a run is; only the latest of each run is written."""
        self.showings[showing.run_id] = showing
        self.ring_soon()

    def keep(self, keeping: Keeping) -> asyncio.Future[str]:
        """Keep a value now; the future has what stands there, once it is on disk."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.keepings.append((keeping, future))
        self.ring()
        return future

    async def flush(self) -> None:
        """Until all that was given so far is written."""
        if not (self.lines or self.showings):
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.append((self.added, future))
        self.ring()
        await future

    def ring_soon(self) -> None:
        """Ring within ``LINE_PAUSE``."""
        if self.timer is None:
            self.timer = asyncio.get_running_loop().call_later(LINE_PAUSE, self.ring)

    async def turn(self) -> float:
        """Write a batch; on a failure all of it waits for the next turn."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        waiters, self.waiters = self.waiters, []
        keepings = [self.keepings.popleft() for _ in range(min(len(self.keepings), BATCH))]
        lines = [self.lines.popleft() for _ in range(min(len(self.lines), BATCH))]
        showings, self.showings = self.showings, {}
        if keepings or lines or showings:
            try:
                stands = await record(
                    self.db,
                    [keeping for keeping, _ in keepings],
                    lines,
                    list(showings.values()),
                    clock=time.monotonic(),
                )
            except BaseException:
                self.keepings.extendleft(reversed(keepings))
                self.lines.extendleft(reversed(lines))
                self.showings = showings | self.showings
                self.waiters = waiters + self.waiters
                raise
            self.written += len(lines)
            for keeping, future in keepings:
                answer(keeping, future, stands.get((keeping.run_id, keeping.key)))
        self.release(waiters)
        return 0 if self.keepings or self.lines or self.waiters else LONGEST_REST

    def release(self, waiters: list[tuple[int, asyncio.Future[None]]]) -> None:
        """Let go who waited for what is written now."""
        for place, future in waiters:
            if place > self.written:
                self.waiters.append((place, future))
            elif not future.done():
                future.set_result(None)


def answer(keeping: Keeping, future: asyncio.Future[str], stands: str | None) -> None:
    """Tell the body what stands; no row means that the lease is gone."""
    if future.done():
        return
    if stands is None:
        future.set_exception(
            LeaseLost(f"run {keeping.run_id} is no longer carried by this attempt; it must stop")
        )
    else:
        future.set_result(stands)
