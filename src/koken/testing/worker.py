"""A worker that does nothing by itself: what it does at one moment, it does when it is told to.

It stands on the runtime's own services, turned by hand, and carries one body at a time, the one
that has waited longest. Whatever is due is looked at again after each.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack

from typing_extensions import override

from koken.client.link import Link
from koken.define.registry import Program
from koken.define.workflow import Workflow
from koken.engine import claim, pulse, register
from koken.engine.claim import NO_ROOM, Claimed
from koken.engine.finish import Ending, Finished
from koken.engine.publish import publish
from koken.engine.record import Line
from koken.model.job import JobSpec
from koken.runtime.carried import Carried
from koken.runtime.chores import Chores
from koken.runtime.finisher import Finisher
from koken.runtime.lifespan import enter_lifespan
from koken.runtime.limits import apply_limits
from koken.runtime.names import Names
from koken.runtime.parents import Parents
from koken.runtime.places import Places
from koken.runtime.plans import Plans
from koken.runtime.recorder import Recorder
from koken.runtime.runner import Runner
from koken.runtime.slots import Slots
from koken.store.database import Row
from koken.testing.cast import Cast
from koken.testing.clock import Clock
from koken.testing.playing import Playbill, Stagehand

NAME = "test worker"
AT_ONCE = frozenset({"fire", "wake"})
"""Chores that may find more to do as soon as they have done something."""
MOST_RETURNS = 1000
"""Times that a run may come back at one moment."""


class Vanished(BaseException):
    """Leaves a body whose worker has vanished under it."""


class TimelessRecorder(Recorder):
    """Bodies speak now: no time passes while they are carried."""

    @override
    def add_line(self, line: Line) -> None:
        line.at = math.inf
        super().add_line(line)


class HandWorker:
    """Carries the jobs of ``program`` on the database of ``link``, as ``cast`` plays them."""

    def __init__(self, program: Program, link: Link, cast: Cast, clock: Clock) -> None:
        self.program = program
        self.config = link.config
        self.db = link.db
        self.cast = cast
        self.clock = clock
        self.id = 0
        self.published: list[JobSpec] | None = None
        self.carrying: Carried | None = None
        self.killed = False
        self.again: float | None = None
        """Seconds until a queue with a rate has room again."""
        self.cleanup = AsyncExitStack()
        self.wire()

    def wire(self) -> None:
        """Make the services and tie them together."""
        self.names = Names(self.db)
        self.places = Places(self.program, self.config.app or address_of(self.program))
        self.recorder = TimelessRecorder(self.db)
        self.plans = Plans(self.db)
        playbill = Playbill(self.cast)
        self.runner = Runner(
            registry=playbill,
            executors=lambda _: Stagehand(self.cast, self.places.make),
            names=self.names,
            recorder=self.recorder,
            parents=Parents(
                self.db, playbill, self.plans, room=lambda: NO_ROOM, chance=lambda: 0.0
            ),
            slots={},
            on_free=lambda: None,
            on_ready=lambda: None,
            chance=lambda: 0.0,
        )
        self.finisher = Finisher(
            self.db, self.finished, room=lambda: NO_ROOM, on_doubt=lambda: None
        )
        self.runner.finisher = self.finisher
        self.chores = Chores(
            self.db,
            worker_id=lambda: self.id,
            queue_ids=list,
            timing=self.config.timing,
            keep=self.config.keep,
            on_ready=lambda: None,
            audit=self.beat,
        )

    async def finished(self, endings: Sequence[Ending], done: Finished) -> None:
        """Endings are delivered."""
        self.runner.finished(endings, done)

    async def work(self) -> list[int]:
        """Do all that can be done at this moment; returns the runs carried, in their order.

        Raises ``RuntimeError`` when a run comes back at once again and again.
        """
        carried: Counter[int] = Counter()
        while True:
            await self.be_there()
            due = await self.sweep()
            run = await self.take()
            if run is not None:
                carried[run.id] += 1
                await self.carry(run)
                if carried[run.id] == MOST_RETURNS:
                    raise RuntimeError(
                        f"run {run.id} came back {MOST_RETURNS:,} times at one moment"
                    )
            elif not due & AT_ONCE:
                return list(carried)

    async def be_there(self) -> None:
        """Publish what the program declares, and register, where that is still to be done."""
        declared = self.program.registry.specs()
        if self.published != declared:
            await publish(self.db, self.program.name, declared, by=NAME, whole=True)
            if self.published is None:
                await apply_limits(self.db, self.config.limits, by=NAME)
                self.runner.state = await enter_lifespan(self.program, self.cleanup)
            self.published = declared
        if not self.id:
            queues = {spec.queue: 1 for spec in declared}
            queues |= {step.queue: 1 for spec in declared for step in spec.steps}
            label = register.label_of(self.program.name, NAME)
            self.id = await register.register(self.db, label, {**queues, **self.config.queues})

    async def beat(self) -> None:
        """Say that it lives, and stop what somebody wants cancelled."""
        if not self.id:
            return
        async with self.db.session() as session:
            cancels = await register.beat(session, self.id, self.runner.bodies)
        await self.runner.stop(cancels or [], "cancel")

    async def sweep(self) -> frozenset[str]:
        """Do the chores that are due; returns which were."""
        found = await pulse.pulse(self.db, [], self.config.timing)
        for chore, verb in self.chores.verbs.items():
            if chore in found.due:
                await verb()
        return found.due

    async def take(self) -> Claimed | None:
        """Claim the run that has waited longest, of those that may go."""
        self.again = None
        for lane in await self.clock.ready():
            for run in await self.claim(lane):
                await self.names.learn([run])
                await self.plans.learn([run])
                return run
        return None

    async def claim(self, lane: Row) -> list[Claimed]:
        """Claim the first run of a lane, if its queue has room."""
        queue_id = lane["queue_id"]
        if not lane["limited"]:
            marks = {(queue_id, lane["workspace_id"]): lane["rank"]}
            return await claim.from_marks(self.db, self.id, marks, {queue_id: 1})
        taken, again = await claim.limited(self.db, self.id, queue_id, 1)
        if again:
            self.again = min(self.again or again, again)
        return await claim.held(self.db, self.id) if taken else []

    async def carry(self, run: Claimed) -> None:
        """One body, from its claim until its ending is delivered."""
        self.runner.slots.setdefault(run.queue_id, Slots(1))
        self.runner.take([run])
        self.carrying = self.runner.carried[run.id]
        try:
            await self.attend(self.carrying)
        finally:
            self.carrying = None
        if self.killed:
            self.bury()
        while self.finisher.endings:
            await self.finisher.turn()

    async def attend(self, carried: Carried) -> None:
        """Write what the body keeps, until it has ended."""
        assert carried.task is not None
        bell = self.recorder.bell
        while not carried.task.done():
            ring = asyncio.ensure_future(bell.wait())
            await asyncio.wait([carried.task, ring], return_when=asyncio.FIRST_COMPLETED)
            ring.cancel()
            bell.clear()
            await self.recorder.turn()
        carried.task.result()

    def kill(self) -> None:
        """Vanish; from within a body, which goes no further. From any thread."""
        if self.carrying is None:
            self.id = 0
            return
        self.killed = True
        self.carrying.stop = "lost"
        if self.carrying.host is not None:
            self.carrying.host.stop = "lost"
        raise Vanished

    def bury(self) -> None:
        """Forget what it held; whoever comes next is another worker."""
        self.killed = False
        self.finisher.endings.clear()
        self.runner.carried.clear()
        self.id = 0

    async def close(self) -> None:
        """Let go of everything."""
        await self.places.close()
        await self.cleanup.aclose()


def address_of(program: Program) -> str:
    """Where a process of its own finds ``program``: in a module of one of its jobs or steps."""
    for job in program.registry:
        steps = job.steps.values() if isinstance(job, Workflow) else ()
        for body in (job.body, *(step.job.body for step in steps)):
            module = getattr(getattr(body, "fn", None), "__module__", "")
            names = getattr(sys.modules.get(module), "__dict__", {})
            for name, value in names.items():
                if value is program:
                    return f"{module}:{name}"
    return ""
