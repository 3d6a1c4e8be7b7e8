"""What is undone of a run that does not end well, and by what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from koken.define.job import Job
from koken.define.registry import Registry
from koken.engine import parts
from koken.engine.claim import Claimed, claimed
from koken.engine.finish import SPENDS_INFRA, SPENDS_NOTHING, Ending
from koken.engine.parts import Moved
from koken.executors.base import Absent, Answer, Broken, Raised, Stopped, Undoing
from koken.model import codec
from koken.model.policy import INFRA_BACKOFF
from koken.model.runparts import Failure
from koken.model.states import State, WaitCause
from koken.runtime import verdict
from koken.runtime.plans import Plans
from koken.runtime.stepping import Steps
from koken.runtime.through import Carry, Next, whole
from koken.store.database import Database
from koken.store.statements import Statement

LOOK = Statement("look")
UNDO_ATTEMPTS = 3
"""Of what undoes a step of a durable function."""


class Undo:
    """Finds what undoes a step, and brings undo steps into being."""

    def __init__(self, db: Database, registry: Registry, plans: Plans, steps: Steps) -> None:
        self.db = db
        self.registry = registry
        self.plans = plans
        self.steps = steps

    async def next(self, run: Claimed, job: Job[..., Any]) -> Next:
        """Undo a step of a workflow, or of a durable function."""
        assert run.parent_id is not None
        shown = (run.step or "").removeprefix("undo ")
        if run.undoes_id == run.parent_id:
            (parent,) = claimed(await self.db.fetch(LOOK, run.parent_id))
            await self.plans.learn([parent])
            if not (parent.is_step or parent.is_item):
                return replace(whole(parent, job), undo=shown, of=parent.id)
            plan = await self.plans.plan(parent.version_id)
            carry = self.steps.body(parent, job, self.plans.spec(parent, plan))
            if isinstance(carry, Ending):
                return verdict.absent_step(run, job.name, parent.step or "")
            return replace(carry, undo=shown, of=parent.id)
        name = shown.partition("[")[0]
        part = self.registry.part(job.name, name, undo=True)
        if part is None:
            return verdict.absent_step(run, job.name, f"{name}.compensate")
        return Carry(job=part, args=await self.undo_args(run, part, name), step=name, undo="")

    async def undo_args(self, run: Claimed, part: Job[..., Any], name: str) -> dict[str, Any]:
        """What the undo of the step ``name`` takes: its result, those of others, arguments."""
        assert run.parent_id is not None
        plan = await self.plans.plan(run.version_id)
        asked = part.body.argument_names or ()
        steps = [plan.step(plan.numbers[each]) for each in asked if each in plan.numbers]
        wanted = [(run.parent_id, step.no, step.each is not None) for step in steps]
        given: dict[str, Any] = {}
        for row in await parts.inputs(self.db, wanted, [run.parent_id]):
            if row["value"] is None:
                continue
            value = codec.decode(row["value"])
            if row["no"] == 0:
                given |= {key: each for key, each in value.items() if key in asked}
            elif row["state"] == State.SUCCEEDED:
                given[plan.step(row["no"]).name] = value
        (own,) = await self.db.fetch(parts.OWN_RESULT, run.undoes_id)
        item = codec.decode(own["args"])
        given |= {key: value for key, value in item.items() if key in asked}
        if name in asked:
            given[name] = codec.decode(own["result"] or "null")
        return given

    async def wanted(self, run: Claimed, job: Job[..., Any]) -> list[tuple[str, int, int]]:
        """What is to be undone of a workflow's run, the last completed first.

        Of steps that were completed at one moment those come first that need the others.
        """
        found = []
        places = (await self.plans.plan(run.version_id)).places
        rows = await self.db.fetch(parts.UNDOABLE, run.id)
        rows.sort(key=lambda row: (row["finished_at"], places[row["name"]]), reverse=True)
        for row in rows:
            undo = self.registry.part(job.name, row["name"], undo=True)
            if undo is not None:
                found.append((row["shown"], row["id"], undo.spec.max_attempts))
        return found

    async def done(self, run: Claimed, then: Ending, answer: Answer) -> Ending | Moved | None:
        """Undo what a body says that is to be undone; its run ends as ``then`` afterwards.

        A body that could not say it, since its worker stopped or failed it, is asked again.
        """
        match answer:
            case Undoing(names) if names:
                undoing = [(name, run.id, UNDO_ATTEMPTS) for name in reversed(names)]
                return await parts.undo_run(
                    self.db, run.id, run.lease, settle=then.state, error=then.error, undoing=undoing
                )
            case Undoing():
                return then
            case Stopped("lost"):
                return None
            case Stopped("timeout"):
                return unable(then, "it took longer than it may (timeout)")
            case Stopped():
                return later(then, State.READY, "returned")
            case Broken(failure) if run.infra_attempt >= run.max_infra_attempts:
                return unable(then, failure.message)
            case Broken():
                found = later(then, State.WAITING, "broken", SPENDS_INFRA)
                found.wait_cause = WaitCause.RETRY
                found.delay = INFRA_BACKOFF.delay(run.infra_attempt + 1, 0.0)
                return found
            case Absent():
                found = later(then, State.WAITING, "returned")
                found.wait_cause, found.delay = WaitCause.DELAY, verdict.ABSENT
                return found
            case Raised(failure):
                return unable(then, failure.message)
            case _:
                return unable(then, type(answer).__name__)


def later(then: Ending, state: State, outcome: str, spent: str = SPENDS_NOTHING) -> Ending:
    """``then``, but not yet: what is to be undone is asked for once more."""
    return replace(
        then, state=state, outcome=outcome, spent=spent, settle=then.state, unwind=True, part=True
    )


def unable(then: Ending, why: str) -> Ending:
    """``then``, with the reason for which nothing could be undone."""
    said = parts.failure(then.error) or Failure(type="", message="")
    message = f"{said.message}; what it did could not be undone: {why}".lstrip("; ")
    return replace(then, error=verdict.text(replace(said, message=message)))
