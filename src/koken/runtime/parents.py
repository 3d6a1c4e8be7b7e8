"""What is done with a claimed run that is made of runs, or is a part of one.

A workflow's run has no body: it is opened (its steps come into being), waits, and is claimed again
when nothing can move any more. Then it is decided how it ends, and what is to be undone before.
Steps with items and steps that start a job go the same way. Everything else is carried by an
executor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from koken.define.job import Job
from koken.define.registry import Registry
from koken.define.workflow import Graph
from koken.engine import parts
from koken.engine.claim import Claimed, Room
from koken.engine.finish import Ending
from koken.model import codec
from koken.model.states import State
from koken.model.steps import Join
from koken.runtime import verdict
from koken.runtime.plans import Plan, Plans
from koken.runtime.stepping import Steps
from koken.runtime.through import Next, moved, outcome, settled, wait_for_children, whole
from koken.runtime.undoing import Undo
from koken.store.database import Database

SPARED = (Join.ANY_FAILED, Join.ALL_DONE)
"""Steps that are there for a failure go on when it stops the others."""
FAIL_FAST = "another step failed, and the workflow stops at the first failure (fail_fast)"


class Parents:
    """Decides what comes next for a claimed run.

    ``room`` says what its worker takes at once of what becomes ready; ``chance`` spreads retries.
    """

    def __init__(
        self,
        db: Database,
        registry: Registry,
        plans: Plans,
        *,
        room: Callable[[], Room],
        chance: Callable[[], float],
    ) -> None:
        self.db = db
        self.room = room
        self.plans = plans
        self.steps = Steps(db, registry, plans, chance)
        self.undo = Undo(db, registry, plans, self.steps)

    async def next(self, run: Claimed, job: Job[..., Any]) -> Next:
        """What comes next for ``run``, a run of ``job`` or a part of one."""
        if run.undoes_id is not None:
            return await self.undo.next(run, job)
        if run.is_step or run.is_item:
            return await self.steps.next(run, job)
        if job.spec.steps or run.made is not None:
            plan = await self.plans.plan(run.version_id)
            if plan.plain:
                return await self.workflow(run, job, plan)
        if isinstance(job.body, Graph):  # without any step
            return Ending.of(run, State.SUCCEEDED, result="null")
        carry = whole(run, job)
        return carry if run.settle is None else await settled(self.db, run, carry)

    async def workflow(self, run: Claimed, job: Job[..., Any], plan: Plan) -> Next:
        """Open a workflow's run, go on with it, or end it."""
        if run.made is None:
            if run.cancelling or run.settle is not None:
                return await settled(self.db, run)
            held = plan.calendar(run)
            return await moved(
                run,
                parts.open_run(
                    self.db,
                    run.id,
                    run.lease,
                    held,
                    fail_fast=plan.fail_fast,
                    room=self.room(),
                ),
            )
        if run.reopens and run.settle is None:
            return await moved(
                run, parts.reopen_run(self.db, run.id, run.lease, fail_fast=plan.fail_fast)
            )
        children = await parts.children_of(self.db, run.id)
        if children.open:
            await parts.stop_children(self.db, [run.id], FAIL_FAST, spared=SPARED)
            return wait_for_children(run)
        state, failure = outcome(run, children)
        if state in (State.FAILED, State.CANCELLED) and run.unwind:
            undoing = await self.undo.wanted(run, job)
            if undoing:
                error = verdict.text(failure)
                return await parts.undo_run(
                    self.db, run.id, run.lease, settle=state, error=error, undoing=undoing
                )
        if state is State.SUCCEEDED:
            return Ending.of(run, state, result=await self.result(run, plan))
        return verdict.ended(run, state, failure)

    async def result(self, run: Claimed, plan: Plan) -> str:
        """What a workflow returns: the result of its last step, or of each of them by name."""
        last = [(run.id, step.no, step.each is not None) for step in plan.last]
        rows = {row["no"]: row for row in await parts.inputs(self.db, last, [])}
        values = {
            step.name: codec.decode(rows[step.no]["value"] or "null")
            for step in plan.last
            if step.no in rows
        }
        whole = values if len(plan.last) > 1 else next(iter(values.values()), None)
        return codec.encode(whole, name="the result")
