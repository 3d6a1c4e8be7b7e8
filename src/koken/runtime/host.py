"""What a running body may ask of its worker: the ``Host`` of one lease."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from koken.engine import durable
from koken.engine.claim import Claimed
from koken.engine.record import Keeping, Line, Showing, Usage, checkpoints
from koken.errors import DatabaseUnreachable
from koken.model.durable import Child, Entry, Met, Past, Waiting, Wanted
from koken.runtime.recorder import Recorder
from koken.views import runs

T = TypeVar("T")
PROGRESS_PAUSE = 1.0
"""Seconds between two writes of a run's progress."""
PATIENCE = 300.0
"""Seconds that a body waits for a database that does not answer; then it is left."""
FIRST_LOOK, LONGEST_LOOK = 0.1, 2.0
"""Seconds between two questions meanwhile."""
WAKE = 1.0
"""Seconds between two moments at which a thread that waits can be stopped."""
logger = logging.getLogger("koken.host")


class RunHost:
    """Ties a body to its run and lease; safe to call from any thread."""

    __slots__ = (
        "cpu_seconds",
        "fresh",
        "last_shown",
        "loop",
        "of",
        "part",
        "peak_bytes",
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
        self.peak_bytes: int = 0 if before is None else before.peak_bytes
        self.cpu_seconds: float = 0.0 if before is None else before.cpu_seconds
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

    def used(self, peak_bytes: int, cpu_seconds: float) -> None:
        """Keep what the processes of the body took, added to those before it in this lease."""
        self.cpu_seconds += cpu_seconds
        self.peak_bytes = max(self.peak_bytes, peak_bytes)
        run = self.run
        self.on_loop(self.recorder.use, Usage(run.id, run.lease, self.peak_bytes, self.cpu_seconds))

    def stop_wanted(self) -> str:
        """Why the body should stop now, or nothing."""
        return self.stop

    async def checkpoints(self) -> Past:
        """What the run has recorded; a first lease has nothing to read."""
        if self.fresh:
            return Past()
        past = await self.answered(lambda: checkpoints(self.recorder.db, self.of))
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
            Keeping(
                run.id, run.lease, key, value, overwrite, ordinal, undo, entries, unwind, self.of
            )
        )

    def unwinds(self) -> None:
        """Remember that there is something to clean up if the run does not end well."""
        self.unwind = True

    async def wait(self, waiting: Waiting) -> Met:
        """Record a wait, or look how it stands."""
        db, run = self.recorder.db, self.run
        return await self.answered(lambda: durable.wait(db, run.id, run.lease, waiting))

    async def child(self, wanted: Wanted) -> Child:
        """Start a child run, or find it."""
        db, run = self.recorder.db, self.run
        child_id, count = wanted.known, None
        if child_id is None:
            self.part = True
            begun = await self.answered(lambda: durable.child(db, run.id, run.lease, wanted))
            child_id, count = begun.id, begun.open
        found = await self.answered(lambda: runs.get_many(db, [child_id]))
        return Child(found[child_id], count)

    async def open_children(self, ids: Sequence[int]) -> tuple[list[int], int]:
        """Which of these runs have ended, and how many children have not."""
        db = self.recorder.db
        return await self.answered(lambda: durable.open_children(db, self.run.id, ids))

    async def answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What the database answers. While it is away the body waits, as it does for ``keep``.

        Raises ``DatabaseUnreachable`` when the body is to stop, and after ``PATIENCE``.
        """
        began, pause = time.monotonic(), FIRST_LOOK
        while True:
            try:
                return await ask()
            except DatabaseUnreachable as error:
                if self.stop or time.monotonic() - began > PATIENCE:
                    raise
                if pause == FIRST_LOOK:
                    logger.warning("run %s waits for the database: %s", self.run.id, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_LOOK)

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry out ``work`` on the worker's loop, from another thread.

        A ``Stop`` that is raised into that thread ends the wait.
        """
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            while not future.done():
                with suppress(TimeoutError):
                    future.exception(WAKE)
            return future.result()
        except BaseException:
            future.cancel()
            raise

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
