"""What a running body may ask of its worker: the ``Host`` of one lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from koken.engine.claim import Claimed
from koken.engine.record import Keeping, Line, Showing, checkpoints
from koken.runtime.recorder import Recorder

T = TypeVar("T")
PROGRESS_PAUSE = 1.0
"""Seconds between two writes of a run's progress."""


class RunHost:
    """Ties a body to its run and lease; safe to call from any thread."""

    __slots__ = ("last_shown", "loop", "pending", "recorder", "run", "stop", "wrote")

    def __init__(self, run: Claimed, recorder: Recorder, loop: asyncio.AbstractEventLoop) -> None:
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

    async def checkpoints(self) -> dict[str, str]:
        """What earlier attempts have kept; a first lease has nothing to read."""
        if self.run.lease == 1:
            return {}
        return await checkpoints(self.recorder.db, self.run.id)

    async def keep(self, key: str, value: str, *, overwrite: bool) -> str:
        """Keep JSON text for good; returns what now stands."""
        return await self.recorder.keep(Keeping(self.run.id, self.run.lease, key, value, overwrite))

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
