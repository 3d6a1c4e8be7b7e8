"""What a running body may ask of its worker: the ``Host`` of one lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from koken.engine import durable
from koken.engine.claim import Claimed
from koken.engine.record import Keeping, Line, Showing, checkpoints
from koken.model.durable import Child, Entry, Met, Past, Waiting, Wanted
from koken.runtime.recorder import Recorder
from koken.views import runs

T = TypeVar("T")
PROGRESS_PAUSE = 1.0
"""Seconds between two writes of a run's progress."""


class RunHost:
    """Ties a body to its run and lease; safe to call from any thread."""

    __slots__ = (
        "fresh",
        "last_shown",
        "loop",
        "of",
        "part",
        "pending",
        "recorder",
        "run",
        "stop",
        "unwind",
        "wrote",
    )

    def __init__(
        self,
        run: Claimed,
        recorder: Recorder,
        loop: asyncio.AbstractEventLoop,
        *,
        of: int | None = None,
        before: RunHost | None = None,
    ) -> None:
        self.fresh = of is None and before is None and run.lease == 1
        """Whether nothing can be on record yet."""
        self.of = of or run.id
        """The run whose checkpoints the body sees."""
        self.part: bool = before is not None and before.part
        """Whether the body has started children, or kept what its run's end must look at."""
        self.unwind: bool = before is not None and before.unwind
        """Whether there is something to undo, or to cancel elsewhere."""
        self.run = run
        self.recorder = recorder
        self.loop = loop
        self.stop = ""
        self.wrote = False
        self.last_shown = 0.0
        self.pending: Showing | None = None

    def log(self, level: str, stream: str, text: str) -> None:
        """Keep text in the run's log, line by line."""
        self.wrote = True
        run, now = self.run, time.monotonic()
        lines = [Line(run.id, run.lease, now, level, stream, each) for each in text.split("\n")]
        self.on_loop(self.recorder.add_lines, lines)

    def progress(self, percent: int, message: str) -> None:
        """Show how far the run is, at most every second; the last one is shown at the end."""
        self.wrote = True
        now = time.monotonic()
        self.pending = Showing(self.run.id, self.run.lease, percent, message)
        if now - self.last_shown >= PROGRESS_PAUSE:
            self.last_shown = now
            self.show()

    def show(self) -> None:
        """Write the progress that waits."""
        if self.pending is not None:
            self.on_loop(self.recorder.show, self.pending)
            self.pending = None

    def stop_wanted(self) -> str:
        """Why the body should stop now, or nothing."""
        return self.stop

    async def checkpoints(self) -> Past:
        """What the run has recorded; a first lease has nothing to read."""
        if self.fresh:
            return Past()
        past = await checkpoints(self.recorder.db, self.of)
        if self.of == self.run.id and any(each.undo for each in past.kept.values()):
            self.unwind = True  # recorded in a transaction of the body's own, maybe
        return past

    async def keep(
        self,
        key: str,
        value: str,
        *,
        overwrite: bool = False,
        ordinal: int | None = None,
        undo: bool = False,
        unwind: bool = False,
        entries: Sequence[Entry] = (),
    ) -> str:
        """Keep JSON text for good; returns what now stands."""
        run = self.run
        self.unwind = self.unwind or undo or unwind
        return await self.recorder.keep(
            Keeping(run.id, run.lease, key, value, overwrite, ordinal, undo, entries, unwind)
        )

    def unwinds(self) -> None:
        """Remember that there is something to clean up if the run does not end well."""
        self.unwind = True

    async def wait(self, waiting: Waiting) -> Met:
        """Record a wait, or look how it stands."""
        return await durable.wait(self.recorder.db, self.run.id, self.run.lease, waiting)

    async def child(self, wanted: Wanted) -> Child:
        """Start a child run, or find it."""
        run = self.run
        child_id, count = wanted.known, None
        if child_id is None:
            self.part = True
            child_id, count = await durable.child(self.recorder.db, run.id, run.lease, wanted)
        found = await runs.get_many(self.recorder.db, [child_id])
        return Child(found[child_id], count)

    async def open_children(self, ids: Sequence[int]) -> tuple[list[int], int]:
        """Which of these runs have ended, and how many children have not."""
        return await durable.open_children(self.recorder.db, self.run.id, ids)

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry out ``work`` on the worker's loop, from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def on_loop(self, call: Any, argument: Any) -> None:
        """Call on the worker's loop, from wherever we are; in order."""
        try:
            if asyncio.get_running_loop() is self.loop:
                call(argument)
                return
        except RuntimeError:
            pass
        with suppress(RuntimeError):  # the loop is closed: the worker has left
            self.loop.call_soon_threadsafe(call, argument)
