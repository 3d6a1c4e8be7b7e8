"""Claims runs for the free slots: from known lanes at their marks, sometimes from the bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from koken.engine import claim, register
from koken.engine.claim import NO_ROOM, Claimed, Lane, Room
from koken.runtime.names import Names
from koken.runtime.plans import Plans
from koken.runtime.runner import Runner
from koken.runtime.service import LONGEST_REST, Service
from koken.store.database import Database

BOTTOM_PERIOD = 1.0
"""Seconds between two looks at the bottom of the lanes, while looking is cheap."""
BOTTOM_SHARE = 0.1
"""Of the time since the last look that a look may cost."""
GAP = 0.02
"""Seconds after an empty claim in which a slot that comes free is no reason for another one."""
AUDIT_PERIOD = 15.0
"""Seconds between two looks whether we hold what we do not know of."""
BREATH = 0.05
"""Seconds until the next look while too many endings wait for delivery."""
MOST_UNDELIVERED = 4000
"""Endings that wait for delivery, above which nothing more is claimed."""


class Claimer(Service):
    """Fills a worker's slots.

    ``may_claim`` says whether the worker may take anything now: not while it drains, nor when it
    has not been heard of for too long.
    """

    name = "claimer"

    def __init__(
        self,
        db: Database,
        *,
        worker_id: Callable[[], int],
        runner: Runner,
        names: Names,
        plans: Plans,
        may_claim: Callable[[], bool],
        undelivered: Callable[[], int],
    ) -> None:
        super().__init__()
        self.db = db
        self.worker_id = worker_id
        self.runner = runner
        self.names = names
        self.plans = plans
        self.may_claim = may_claim
        self.undelivered = undelivered
        self.marks: dict[Lane, datetime] = {}
        self.told = True
        self.in_doubt = False
        self.bottom_at = float("-inf")
        self.empty_at = float("-inf")
        """When a claim last came back empty."""
        self.bottom_rest = BOTTOM_PERIOD
        self.hungry: set[int] = set()
        """Queues of which this worker wants to be told."""
        self.limited: set[int] = set()
        self.audited_at = time.monotonic()

    def spare(self) -> Room:
        """What this worker takes at once of what becomes ready: where its last claim came short."""
        if not self.hungry or not self.may_claim():
            return NO_ROOM
        free = {queue: max(self.runner.free_slots(queue), 0) for queue in self.hungry}
        return Room(self.worker_id(), [each for each in free if free[each]], sum(free.values()))

    def doubt(self) -> None:
        """Something may have been given to us of which we do not know."""
        self.in_doubt = True
        self.tell()

    def tell(self) -> None:
        """Something became ready: look from the bottom."""
        self.told = True
        self.ring()

    async def turn(self) -> float:
        """Claim once; what a claim without an answer has taken is found again first."""
        if not self.may_claim():
            return LONGEST_REST
        if self.undelivered() > MOST_UNDELIVERED:
            return BREATH
        if self.in_doubt:
            await self.adopt()
        room = {queue: free for queue, free in self.runner.room().items() if free > 0}
        self.hungry &= room.keys()
        if not room:
            return LONGEST_REST
        told, self.told = self.told, False
        now = time.monotonic()
        due_in = self.bottom_at + self.bottom_rest - now
        if not told and due_in > 0 and now < self.empty_at + GAP and not self.limited:
            return self.empty_at + GAP - now
        runs, looked = await self.claim(room, told=told, due=due_in <= 0)
        if not runs:
            self.empty_at = time.monotonic()
        limited, again = await self.claim_limited(room)
        if len(runs) + limited >= sum(room.values()):
            self.told = self.told or (told and not looked)
            return 0
        await self.be_hungry(room.keys())
        if told and not looked:
            self.told = True
            return max(due_in, BREATH)
        return 0 if self.told else again or LONGEST_REST

    async def claim(
        self, room: dict[int, int], *, told: bool, due: bool
    ) -> tuple[list[Claimed], bool]:
        """Take what there is; also says whether we looked from the bottom.

        From the marks first; from the bottom when nothing lay above them and somebody told us of
        something, or when it is time to look.
        """
        runs = [] if due else await self.from_marks(room)
        if runs or not (told or due):
            return runs, False
        runs = await self.from_bottom(room)
        self.limited = set(await claim.limited_queues(self.db, list(room)))
        return runs, True

    async def from_marks(self, room: dict[int, int]) -> list[Claimed]:
        """From the lanes that we know, upwards from their marks."""
        if not self.marks:
            return []
        self.in_doubt = True
        me, unknown = self.worker_id(), self.runner.unknown
        runs = await claim.from_marks(self.db, me, self.marks, room, skip=unknown)
        await self.begin(runs, me)
        self.marks |= marks(runs)
        return runs

    async def from_bottom(self, room: dict[int, int]) -> list[Claimed]:
        """From all lanes that have something; those are the ones that we know from now on."""
        began = time.monotonic()
        self.in_doubt = True
        me, unknown = self.worker_id(), self.runner.unknown
        runs = await claim.from_bottom(self.db, me, room, skip=unknown)
        await self.begin(runs, me)
        self.bottom_at = time.monotonic()
        self.bottom_rest = max(BOTTOM_PERIOD, (self.bottom_at - began) / BOTTOM_SHARE)
        self.marks = marks(runs) or self.marks
        return runs

    async def claim_limited(self, room: dict[int, int]) -> tuple[int, float]:
        """From the queues with a limit or a rate that have something; how many, and when again."""
        taken, soonest = 0, 0.0
        for queue_id in sorted(self.limited & room.keys()):
            free = self.runner.free_slots(queue_id)
            if free <= 0:
                continue
            self.in_doubt = True
            got, again = await claim.limited(
                self.db, self.worker_id(), queue_id, free, skip=self.runner.unknown
            )
            taken += got
            if again:
                soonest = min(soonest or again, again)
        if taken:
            await self.adopt()
        self.in_doubt = False
        return taken, soonest

    async def adopt(self) -> None:
        """Carry what the database says that we hold and we do not know of."""
        self.runner.delivered = set()
        me = self.worker_id()
        runs = await claim.held(self.db, me)
        delivered, self.runner.delivered = self.runner.delivered, None
        await self.begin([run for run in runs if (run.id, run.lease) not in delivered], me)

    async def audit(self) -> None:
        """See whether the database says that we hold what we do not know of.

        A claim that we gave up may reach it late, when we have asked already.
        """
        now = time.monotonic()
        if now - self.audited_at < AUDIT_PERIOD:
            return
        self.audited_at = now
        for run_id, lease in await claim.held_ids(self.db, self.worker_id()):
            if not self.runner.carries(run_id, lease):
                self.in_doubt = True
                self.tell()

    async def begin(self, runs: Sequence[Claimed], claimed_by: int) -> None:
        """Hand the runs of a claim that was answered to the runner.

        An answer to a worker that we are no longer, lost meanwhile, is nobody's: its runs went on.
        """
        if runs:
            await self.names.learn(runs)
            await self.plans.learn(runs)
            if self.worker_id() == claimed_by:
                self.runner.take(runs)
        self.in_doubt = False

    async def be_hungry(self, queues: Iterable[int]) -> None:
        """Ask to be told of what becomes ready; each beat of the heart renews it.

        What became ready before the database heard of it is found by one more look.
        """
        fresh = set(queues) - self.hungry
        if fresh:
            await register.hungry(self.db, list(fresh))
            self.hungry |= fresh
            self.tell()


def marks(runs: Sequence[Claimed]) -> dict[Lane, datetime]:
    """The smallest rank of each lane among these runs."""
    found: dict[Lane, datetime] = {}
    for run in runs:
        lane = (run.queue_id, run.workspace_id)
        if lane not in found or run.rank < found[lane]:
            found[lane] = run.rank
    return found
