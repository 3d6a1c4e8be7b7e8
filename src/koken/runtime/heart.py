"""Keeps a worker's lease alive: a thread of its own, with its own loop and connection.

A body that blocks the worker's loop does not cost the lease. A beat has a deadline; a connection
that misses it is abandoned. The count starts when a beat is *sent*, so it always runs out here
before it runs out in the database.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from koken.engine.register import beat
from koken.errors import KokenError
from koken.model.timing import Timing
from koken.store.database import Database

CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on while the machine sleeps, where the system has such a clock."""


REMINDER = 30.0
"""Seconds between two warnings that beats fail."""


def clock() -> float:
    """Seconds on the heart's clock."""
    return time.clock_gettime(CLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulses:
    """What the heart tells its worker; called in the heart's thread."""

    on_cancel: Callable[[list[int]], None]
    """Somebody wants these runs cancelled."""
    on_lost: Callable[[], None]
    """The database says that this worker is lost."""
    on_silence: Callable[[], None]
    """No beat was confirmed for ``stop_after``."""
    on_voice: Callable[[], None]
    """Beats are confirmed again after a silence."""
    on_death: Callable[[], None]
    """No beat was confirmed for ``kill_after``: whatever still runs must be killed."""


class Heart:
    """Beats until stopped.

    ``busy`` tells how many bodies are at work, ``hungry`` of which queues the worker wants hints.
    """

    def __init__(
        self,
        make_database: Callable[[], Database],
        *,
        timing: Timing,
        worker_id: Callable[[], int],
        busy: Callable[[], int],
        hungry: Callable[[], Sequence[int]],
        pulses: Pulses,
    ) -> None:
        self.make_database = make_database
        self.timing = timing
        self.worker_id = worker_id
        self.busy = busy
        self.hungry = hungry
        self.pulses = pulses
        self.confirmed_at = clock()
        self.silent = False
        self.told_at = float("-inf")
        self.logger = logging.getLogger("koken.heart")
        self.loop: asyncio.AbstractEventLoop | None = None
        self.bell: asyncio.Event | None = None
        self.stopping = False
        self.started = threading.Event()
        self.thread = threading.Thread(target=self.live, name="koken heart", daemon=True)

    def start(self) -> None:
        """Begin to beat; returns when the thread is at it."""
        self.confirmed_at = clock()
        self.thread.start()
        self.started.wait()

    def stop(self) -> None:
        """End; returns when the thread has ended."""
        self.stopping = True
        if self.thread.is_alive():
            self.ring()
            self.thread.join()

    def ring(self) -> None:
        """Beat now. From any thread."""
        if self.loop is not None and self.bell is not None:
            with suppress(RuntimeError):  # it has just ended
                self.loop.call_soon_threadsafe(self.bell.set)

    @property
    def silence(self) -> float:
        """Seconds since the last confirmed beat was sent."""
        return clock() - self.confirmed_at

    def live(self) -> None:
        """The thread's whole life."""
        asyncio.run(self.go())

    async def go(self) -> None:
        """Beat after beat."""
        self.loop = asyncio.get_running_loop()
        self.bell = asyncio.Event()
        self.started.set()
        db = self.make_database()
        try:
            while not self.stopping:
                self.bell.clear()
                try:
                    lost = await self.beat_once(db)
                    self.judge()  # before those bodies are let go that may not run twice
                    if lost:
                        self.pulses.on_lost()
                except Exception:
                    self.logger.exception("a beat failed; the heart goes on")
                await self.rest()
        finally:
            await db.close()

    async def beat_once(self, db: Database) -> bool:
        """One beat within its deadline. Returns whether the database counts us as lost."""
        sent_at = clock()
        try:
            async with asyncio.timeout(self.timing.beat_deadline), db.place(alone=True) as tx:
                cancels = await beat(tx, self.worker_id(), self.busy(), self.hungry())
        except (KokenError, TimeoutError, OSError) as error:
            self.tell_of_silence(error)
            return False
        if cancels is None:
            return True
        self.confirmed_at = sent_at
        self.told_at = float("-inf")
        if self.silent:
            self.silent = False
            self.pulses.on_voice()
        if cancels:
            self.pulses.on_cancel(cancels)
        return False

    def tell_of_silence(self, error: BaseException) -> None:
        """Warn of a beat that failed: of the first, then every ``REMINDER`` seconds."""
        now = clock()
        if now - self.told_at >= REMINDER:
            self.told_at = now
            self.logger.warning("no beat for %.0f s: %s", self.silence, error)

    def judge(self) -> None:
        """What follows from the silence."""
        silence = self.silence
        if silence > self.timing.kill_after:
            self.pulses.on_death()
        elif silence > self.timing.stop_after and not self.silent:
            self.silent = True
            self.pulses.on_silence()

    async def rest(self) -> None:
        """Until the next beat; shorter when beats fail, so that thresholds are seen in time."""
        assert self.bell is not None
        late = self.silence > 2 * self.timing.beat
        pause = min(self.timing.beat, 1.0) if late else self.timing.beat
        with suppress(TimeoutError):
            await asyncio.wait_for(self.bell.wait(), pause)
