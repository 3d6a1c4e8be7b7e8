"""What comes next for a step of a workflow, and for one of a step's items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from koken.define import condition
from koken.define.job import Job
from koken.define.registry import Registry
from koken.define.workflow import Workflow
from koken.engine import durable, parts
from koken.engine.claim import Claimed
from koken.engine.finish import Ending
from koken.engine.parts import Children
from koken.errors import Conflict, InvalidArguments, NotFound
from koken.executors.base import Raised, raised
from koken.model import codec
from koken.model.durable import CHILD, Wanted
from koken.model.runparts import Failure
from koken.model.states import State
from koken.model.steps import StepSpec
from koken.runtime import verdict
from koken.runtime.plans import Plan, Plans, flow_of
from koken.runtime.through import Carry, Next, moved, settled, told, wait_for_children, words
from koken.store.database import Database

REFUSALS = (InvalidArguments, NotFound, Conflict)
"""Errors that are the step's; of others, such as a database that is away, it is not to blame."""
TOO_MANY = "more items failed than are borne"


class Steps:
    """Carries a step's body, spreads it into items, or starts the job that it stands for."""

    def __init__(
        self, db: Database, registry: Registry, plans: Plans, chance: Callable[[], float]
    ) -> None:
        self.db = db
        self.registry = registry
        self.plans = plans
        self.chance = chance

    async def next(self, run: Claimed, job: Job[..., Any]) -> Next:
        """A step of a workflow, or one of a step's items."""
        plan = await self.plans.plan(run.version_id)
        step = self.plans.spec(run, plan)
        parent = (run.is_step and step.each is not None) or step.kind == "job"
        if parent and run.settle is not None:
            return await settled(self.db, run)
        if changed := self.changed(plan, step, job):
            return verdict.ended(run, State.FAILED, changed)
        carry = self.body(run, job, step)
        if isinstance(carry, Ending):
            return carry
        if run.is_step and run.made is None:
            try:
                reason = unmet(run, job, step)
            except Exception as error:  # of the program's own predicate
                return self.failed(run, error, carry.job)
            if reason:
                return verdict.ended(run, State.SKIPPED, Failure(type="Skip", message=reason))
        if run.is_step and step.each is not None:
            return await self.spread(run, plan, step)
        if step.kind == "job":
            return await self.child(run, step, carry)
        return carry if run.settle is None else await settled(self.db, run, carry)

    def changed(self, plan: Plan, step: StepSpec, job: Job[..., Any]) -> Failure | None:
        """That a step takes other things than in the version that the run began with."""
        found = job.steps.get(step.name) if isinstance(job, Workflow) else None
        if found is None or step.no in plan.matched:
            return None
        if shape(found.spec) == shape(step):
            plan.matched.add(step.no)
            return None
        message = (
            f"step {step.name} of {job.name} is not what it was when the run began: it takes "
            f"{taken(found.spec)} now, and took {taken(step)} then. Nothing is mixed; start the "
            "job anew: koken rerun"
        )
        return Failure(type="WorkflowChanged", message=message)

    def body(self, run: Claimed, job: Job[..., Any], step: StepSpec) -> Carry | Ending:
        """The body of a step or an item, with its arguments."""
        part = self.registry.part(job.name, step.name, undo=False)
        if part is None:
            return verdict.absent_step(run, job.name, step.name)
        args = run.inputs.of(step)
        if run.is_item:
            args |= codec.decode(run.args)
        return Carry(job=part, args=args, step=step.name)

    async def spread(self, run: Claimed, plan: Plan, step: StepSpec) -> Next:
        """A step with items: spread it, go on with it, or end it."""
        each = step.each
        assert each is not None
        if run.made is None:
            source = plan.numbers[each.source] if each.of_step else None
            argument = None if each.of_step else each.source
            flow_id = flow_of(run)
            try:
                total = await parts.count_items(self.db, flow_id, source, argument, step=step.name)
            except REFUSALS as error:
                return self.failed(run, error)
            if total == 0:
                return Ending.of(run, State.SUCCEEDED, result="[]")
            return await moved(
                run,
                parts.spread_run(
                    self.db,
                    run.id,
                    run.lease,
                    flow_id=flow_id,
                    parameter=each.parameter,
                    step_no=source,
                    argument=argument,
                    at_once=step.at_once,
                    tolerated=None if step.accept is None else step.accept.tolerated(total),
                ),
            )
        if run.reopens:
            return await moved(run, parts.reopen_run(self.db, run.id, run.lease, fail_fast=False))
        children = await parts.children_of(self.db, run.id)
        if children.open or children.not_begun:  # woken early
            await parts.stop_children(self.db, [run.id], TOO_MANY)
            return wait_for_children(run)
        return await self.gathered(run, step, children)

    async def gathered(self, run: Claimed, step: StepSpec, children: Children) -> Next:
        """The end of a step with items; misses that are borne count as skipped."""
        total, bad = children.total, children.failed + children.cancelled
        required = total if step.accept is None else step.accept.required(total)
        if total - bad < required or (run.cancelling and bad):
            if run.cancelling:
                return verdict.ended(run, State.CANCELLED, Failure(type="Cancel", message=""))
            message = f"{children.failed} of {total} items failed"
            message += "" if step.accept is None else f" (accepted: {total - required})"
            message += f", {children.cancelled} were cancelled" if children.cancelled else ""
            message += f"; {told(children)}"
            return verdict.ended(run, State.FAILED, Failure(type="ItemsFailed", message=message))
        if children.failed:
            await parts.forgive(self.db, run.id)
        counts = {
            "items": total,
            "succeeded": children.succeeded,
            "skipped": children.skipped + children.failed,
            **({"cancelled": children.cancelled} if children.cancelled else {}),
        }
        return Ending.of(run, State.SUCCEEDED, result=codec.encode(counts, name="the counts"))

    async def child(self, run: Claimed, step: StepSpec, carry: Carry) -> Next:
        """A step that is another job: start it, wait for it, take over what it came to."""
        if run.reopens and run.made is not None:
            try:
                return await moved(run, parts.reopen_child(self.db, run.id, run.lease))
            except Conflict as error:
                return self.failed(run, error, carry.job)
        try:
            wanted = Wanted(
                key=CHILD + step.name,
                step=None,
                spent=run.attempt - 1,
                job=step.job or "",
                args=carry.job.body.bind_plain(carry.args),
            )
            child = await durable.child(self.db, run.id, run.lease, wanted)
        except REFUSALS as error:
            return self.failed(run, error, carry.job)
        if not child.state.ended:
            return wait_for_children(run)
        if child.state is State.SUCCEEDED:
            return Ending.of(run, child.state, result=child.result)
        said = parts.failure(child.error) or Failure(type="", message="")
        message = f"{child.job} {child.id} {words(child.state)}: {said.message}".rstrip(": ")
        failure = Failure(type=said.type, message=message)
        if child.state is not State.FAILED:
            return verdict.ended(run, child.state, failure)
        return verdict.again_or_failed(run, carry.job, failure, None, None, self.chance())

    def failed(self, run: Claimed, error: Exception, part: Job[..., Any] | None = None) -> Next:
        """After an error beside a body that is the step's."""
        answer = raised(error)
        assert isinstance(answer, Raised)
        if part is None:
            return verdict.ended(run, State.FAILED, answer.failure)
        ending = verdict.raised(run, part, answer, self.chance())
        assert ending is not None
        return ending


def shape(step: StepSpec) -> tuple[object, ...]:
    """What a step is given, and as what it is carried out."""
    return step.kind, step.each, step.inputs, frozenset(step.arguments)


def taken(step: StepSpec) -> str:
    """What a step takes, in words."""
    names = [*step.inputs, *step.arguments]
    each = [f"each of {step.each.source}"] if step.each else []
    return ", ".join([*each, *names]) or "nothing"


def unmet(run: Claimed, job: Job[..., Any], step: StepSpec) -> str:
    """Why a step's condition does not hold; empty when it does, or there is none."""
    found = job.steps.get(step.name) if isinstance(job, Workflow) else None
    if found is None or found.condition is None:
        return ""
    return condition.unmet(found.condition, run.inputs.asked_by(step))
