"""Writes what bodies keep, print and show: everything that waits goes into one commit."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from koken.engine.record import Keeping, Line, Showing, Usage, record, use
from koken.errors import KokenError, LeaseLost
from koken.runtime.service import LONGEST_REST, Service
from koken.store.database import Database
from koken.store.failures import concerns_data

BATCH = 1000
BATCH_SIZE = 32 << 20
"""Characters of values in one batch; PostgreSQL takes no message over 1 GB."""
LINE_PAUSE = 0.2
"""Seconds that printed lines may wait for company."""
MOST_LINES = 50_000
"""Lines that may wait in memory while the database is away; then the oldest go."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A value to keep, and whom to tell that it is kept."""

    keeping: Keeping
    future: asyncio.Future[str]


@dataclass(frozen=True, slots=True)
class Mark:
    """A place among the lines: reached once all that stands before it is written or given up."""

    reached: asyncio.Future[None]


Item = Promise | Showing | Line | Mark


class Recorder(Service):
    """One writer for all bodies of a worker.

    What the database refuses is found by halves, and costs its own body alone.
    """

    name = "recorder"

    def __init__(self, db: Database) -> None:
        super().__init__()
        self.db = db
        self.promises: deque[Promise] = deque()
        self.lines: deque[Line | Mark] = deque()
        self.showings: dict[int, Showing] = {}
        self.usages: dict[tuple[int, int], Usage] = {}
        self.timer: asyncio.TimerHandle | None = None

    def add_lines(self, lines: Sequence[Line]) -> None:
        """Keep lines soon. On the worker's loop only."""
        for line in lines:
            self.add_line(line)

    def add_line(self, line: Line) -> None:
        """Keep a line soon."""
        self.append(line)
        if len(self.lines) >= BATCH:
            self.ring()
        else:
            self.ring_soon()

    def append(self, item: Line | Mark) -> None:
        """Put a line or a mark behind the others; where there is no room the oldest goes."""
        if len(self.lines) == MOST_LINES:
            pass_by(self.lines.popleft())
        self.lines.append(item)

    def show(self, showing: Showing) -> None:
        """Show how far a run is; only the latest of each run is written."""
        self.showings[showing.run_id] = showing
        self.ring_soon()

    def use(self, usage: Usage) -> None:
        """Keep what an attempt took, soon; nobody waits for it."""
        self.usages[usage.run_id, usage.lease] = usage
        self.ring_soon()

    def keep(self, keeping: Keeping) -> asyncio.Future[str]:
        """Keep a value now; the future has what stands there, once it is on disk."""
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.promises.append(Promise(keeping, future))
        self.ring()
        return future

    async def flush(self) -> None:
        """Until all that was given so far is written, or given up."""
        mark = Mark(asyncio.get_running_loop().create_future())
        self.append(mark)
        self.ring()
        await mark.reached

    def ring_soon(self) -> None:
        """Ring within ``LINE_PAUSE``."""
        if self.timer is None:
            self.timer = asyncio.get_running_loop().call_later(LINE_PAUSE, self.ring)

    async def turn(self) -> float:
        """Write a batch; on a failure all of it waits for the next turn."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        items = self.items()
        if items:
            await self.write(items)
        if self.usages:
            await self.write_usages()
        return 0 if self.promises or self.showings or self.lines else LONGEST_REST

    async def write_usages(self) -> None:
        """Write what attempts took, or put it back."""
        usages, self.usages = self.usages, {}
        try:
            await use(self.db, list(usages.values()))
        except BaseException as error:
            if isinstance(error, KokenError) and concerns_data(error):
                self.logger.error("what some runs took cannot be kept: %s", error)
                return
            self.usages = usages | self.usages
            raise

    def items(self) -> list[Item]:
        """What goes into the next commit; progress stands before the marks that wait for it."""
        found: list[Item] = []
        size = 0
        while self.promises and len(found) < BATCH and size < BATCH_SIZE:
            found.append(promise := self.promises.popleft())
            size += len(promise.keeping.value)
        found += self.showings.values()
        self.showings = {}
        found += [self.lines.popleft() for _ in range(min(len(self.lines), BATCH))]
        return found

    async def write(self, items: list[Item]) -> None:
        """Write these in one commit, or put back what was not written."""
        promises = [item for item in items if isinstance(item, Promise)]
        lines = [item for item in items if isinstance(item, Line)]
        showings = [item for item in items if isinstance(item, Showing)]
        keepings = [promise.keeping for promise in promises]
        stands: Mapping[tuple[int, str], str] = {}
        try:
            if promises or lines or showings:
                stands = await record(self.db, keepings, lines, showings, clock=time.monotonic())
        except BaseException as error:
            if isinstance(error, KokenError) and concerns_data(error):
                await self.divide(items, error)
                return
            self.put_back(items)
            raise
        for promise in promises:
            tell(promise, stands.get((promise.keeping.of, promise.keeping.key)))
        for item in items:
            pass_by(item)

    async def divide(self, items: list[Item], error: KokenError) -> None:
        """Find what the database refuses, by halves; the second one waits for the next turn."""
        if len(items) == 1:
            self.refuse(items[0], error)
            return
        self.put_back(items[len(items) // 2 :])
        await self.write(items[: len(items) // 2])

    def refuse(self, item: Item, error: KokenError) -> None:
        """Something cannot be kept: a value's body hears of it, anything else is left out."""
        if isinstance(item, Line | Showing):
            self.logger.error("a line of run %s cannot be kept: %s", item.run_id, error)
        elif isinstance(item, Promise) and not item.future.done():
            item.future.set_exception(error)

    def put_back(self, items: list[Item]) -> None:
        """What was not written waits for the next turn, in its order; newer progress wins."""
        for item in reversed(items):
            if isinstance(item, Promise):
                self.promises.appendleft(item)
            elif isinstance(item, Showing):
                self.showings.setdefault(item.run_id, item)
            elif len(self.lines) == MOST_LINES:
                pass_by(item)  # there is no room for so old a one
            else:
                self.lines.appendleft(item)


def pass_by(item: Item) -> None:
    """Whoever waits at this place goes on."""
    if isinstance(item, Mark) and not item.reached.done():
        item.reached.set_result(None)


def tell(promise: Promise, stands: str | None) -> None:
    """Tell a body what stands; no row means that the lease is gone."""
    if promise.future.done():
        return
    if stands is None:
        promise.future.set_exception(
            LeaseLost(
                f"run {promise.keeping.run_id} is no longer carried by this attempt; it must stop"
            )
        )
    else:
        promise.future.set_result(stands)
