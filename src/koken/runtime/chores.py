"""Does what is due: fires schedules, wakes runs, rescues, grants, expires, prunes.

There is no leader. Every worker asks now and then what has something to do; sweeps by two at once
harm nobody, and one that fails costs a period.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from typing_extensions import override

from koken.engine import bulk, fire, grant, move, parts, prune, pulse, rescue, retime, wake
from koken.errors import DatabaseUnreachable
from koken.model.timing import Timing
from koken.runtime.service import Service
from koken.store.database import Database

COMPANY = 4
"""Above so many workers each asks less often, so that all together ask as often as these."""


SOON = 0.02
"""Seconds until the next look after something was due."""


class Chores(Service):
    """The sweeps. ``on_ready`` is rung when something may have become ready.

    ``audit`` is asked now and then whether this worker knows all that it holds.
    """

    name = "chores"

    def __init__(
        self,
        db: Database,
        *,
        worker_id: Callable[[], int],
        queue_ids: Callable[[], list[int]],
        timing: Timing,
        keep: Mapping[str, float],
        on_ready: Callable[[], None],
        audit: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__()
        self.db = db
        self.worker_id = worker_id
        self.queue_ids = queue_ids
        self.timing = timing
        self.keep = keep
        self.on_ready = on_ready
        self.audit = audit
        self.wakers: set[asyncio.Task[None]] = set()
        """Each waits for the moment of a run."""
        self.verbs: dict[str, Callable[[], Awaitable[object]]] = {
            "rescue": lambda: rescue.rescue(self.db, self.timing),
            "fire": lambda: fire.fire(self.db),
            "wake": lambda: wake.wake(self.db),
            "grant": lambda: grant.sweep(self.db),
            "expire": lambda: wake.expire(self.db),
            "stop": lambda: parts.stop_rest(self.db),
            "follow": lambda: move.follow_late(self.db),
            "bulk": lambda: bulk.sweep(self.db),
        }
        self.periodic: dict[str, Callable[[int], Awaitable[object]]] = {
            "orphans": lambda _: rescue.adopt_orphans(self.db),
            "prune": self.prune,
            "partition": self.partition,
            "retime": lambda _: retime.retime(self.db),
        }

    async def turn(self) -> float:
        """Ask what is due and do it; rests until the next thing falls due, or a sweep long."""
        found = await pulse.pulse(self.db, self.queue_ids(), self.timing)
        errors = [await failure(verb) for chore, verb in self.verbs.items() if chore in found.due]
        if found.due & {"claim", "rescue", "fire", "wake", "grant", "follow", "bulk"}:
            self.on_ready()
        later: list[Callable[[], Awaitable[object]]] = [
            partial(self.do, chore) for chore in self.periodic if chore in found.due
        ]
        errors += [await failure(work) for work in (*later, self.audit)]
        if any(errors):
            raise ExceptionGroup("chores failed", [error for error in errors if error])
        if found.due & {"fire", "wake", "expire"}:
            return SOON  # what comes after these is not known yet
        return min(found.next_in, self.sweep(found.workers))

    def sweep(self, workers: int) -> float:
        """Seconds until the next look when nothing is known to fall due before."""
        crowd = max(workers / COMPANY, 1.0)
        return self.timing.sweep * (random.uniform(0, 2 * crowd) if crowd > 1 else 1.0)

    async def do(self, chore: str) -> None:
        """A periodic chore, if nobody else does it this time."""
        cursor = await pulse.take_chore(self.db, chore, self.worker_id())
        if cursor is not None:
            await self.periodic[chore](cursor)

    async def prune(self, cursor: int) -> None:
        """A stretch of the walk over old runs; the walk goes on at its next time."""
        done = await prune.prune(self.db, self.keep, cursor=cursor)
        await prune.move_cursor(self.db, "prune", done.cursor)
        await prune.prune_rest(self.db, self.keep)

    async def partition(self, _: int) -> None:
        """The log's partitions."""
        await prune.partition(self.db, self.keep)

    def wake_in(self, seconds: float, run_id: int) -> None:
        """Wake a run that this worker parked, on time; if we die, the sweep does it."""
        if seconds < 60 and not self.stopping:
            waker = asyncio.create_task(self.wake_one(seconds, run_id))
            self.wakers.add(waker)
            waker.add_done_callback(self.wakers.discard)

    async def wake_one(self, seconds: float, run_id: int) -> None:
        """Wake one run by its number, after so many seconds."""
        await asyncio.sleep(seconds)
        try:
            if await wake.wake(self.db, [run_id]):
                self.on_ready()
        except Exception as error:
            self.logger.debug("the sweep will wake run %s: %s", run_id, error)

    @override
    async def stop(self) -> None:
        self.stopping = True
        wakers = list(self.wakers)
        for waker in wakers:
            waker.cancel()
        await asyncio.gather(*wakers, return_exceptions=True)
        await super().stop()


async def failure(work: Callable[[], Awaitable[object]]) -> Exception | None:
    """Do ``work``; what it raises must not keep the others from being done.

    Raises ``DatabaseUnreachable``: then the others could not be done either.
    """
    try:
        await work()
    except DatabaseUnreachable:
        raise
    except Exception as error:
        return error
    return None
