"""What each repair changes, or why it is not legal: one function for each verb."""

from __future__ import annotations

from collections.abc import Sequence

from koken.engine.change import Change
from koken.engine.ground import RECORDED, Flow, Part
from koken.engine.legal import (
    SAID,
    check_declare,
    check_going,
    check_needs,
    check_result,
    not_ended,
    refused,
)
from koken.engine.rows import Declared
from koken.errors import NotFound
from koken.model.durable import FAILED, MAP, STEP
from koken.model.plan import Again
from koken.model.states import BAD, State
from koken.store.statements import Statement

UNDONE_IN_BODY = Statement("undone_in_body")
RETRIABLE = (State.FAILED, State.CANCELLED, State.SKIPPED)


async def retry(change: Change, run: Part, step: str | None) -> None:
    """What failed or was cancelled goes again; with ``step``, that one and all that follows it."""
    ground = change.ground
    if run.step_no is not None and step is not None:
        raise refused(run, "it is itself a step; retry it without --from")
    if run.undoes_id is not None:
        retry_undo(change, run, await ground.part(run.parent_id or 0))
    elif run.step_no is not None:
        await retry_part(change, run, follow=False)
    elif not await ground.is_flow(run):
        await retry_plain(change, run, step)
    elif step is not None:
        flow = await ground.flow(run.id)
        await retry_part(change, await ground.named(flow, step), follow=True)
    else:
        await retry_whole(change, await ground.flow(run.id))


async def retry_whole(change: Change, flow: Flow) -> None:
    """All that did not go well in a workflow."""
    run = flow.run
    bad = [name for name, part in flow.steps.items() if part.state in BAD]
    if run.state is State.SUCCEEDED:
        raise refused(
            run,
            f"it has succeeded. retry {run.id} --from STEP does a part of it again, "
            f"rerun {run.id} all of it",
        )
    if not run.state.ended:
        if not bad:
            raise not_ended(run)
        check_going(run)
    await change.steps(flow, bad, ())
    await change.up(flow)


async def retry_part(change: Change, target: Part, *, follow: bool) -> None:
    """One step or item, and with ``follow`` all that comes after it."""
    flow = await change.ground.flow_of(target)
    name = target.step or ""
    step = target if target.is_step else await change.ground.part(target.parent_id or 0)
    if not flow.run.state.ended:
        if target.state not in BAD:
            raise refused(
                target,
                f"it is {target.standing}; while its workflow goes, only what failed or was "
                "cancelled can be retried",
            )
        check_going(flow.run)
    elif not target.state.ended:
        raise refused(
            target, f"it is {target.standing}: it goes when what it needs has; retry that"
        )
    if target.is_item and not step.state.ended:
        change.set_back(target, anew=False, flow=flow)
        change.look(step)
        tell_alone(change, target, flow)
        return
    again = {name} if target.is_item or target.state in BAD else set()
    anew = set() if again else {name}
    if flow.run.state.ended and (follow or step.state not in BAD):
        anew |= {each for each in flow.after({name}) if flow.may_go(each)}
    check_needs(flow, target, again | anew)
    items = {name: [target]} if target.is_item else None
    await change.steps(flow, again, anew, items=items)
    await change.up(flow)


def tell_alone(change: Change, item: Part, flow: Flow) -> None:
    """An item goes again while its step still waits for others."""
    spec = flow.specs[item.step or ""]
    if item.begun:
        change.again.append(Again(step=spec.name, effect=spec.effect, items=1))


async def retry_plain(change: Change, run: Part, step: str | None) -> None:
    """A run without steps of a workflow; what its body has recorded stays, up to ``step``."""
    if run.state not in RETRIABLE and not (step is not None and run.state is State.SUCCEEDED):
        raise not_ended(run)
    keys = [row["key"] for row in await change.ground.tx.fetch(RECORDED, run.id)]
    names = steps_of(keys)
    if step is not None and step not in names:
        known = ", ".join(names) or "nothing"
        raise NotFound(f"run {run.id} has not recorded step {step!r}; it has recorded {known}")
    undone = {row["name"] for row in await change.ground.tx.fetch(UNDONE_IN_BODY, run.id)}
    change.max_attempts = run.max_attempts
    change.forgets = step
    change.undone += [name for name in names if name in undone]
    gone = {step, *undone}
    place = next((no for no, key in enumerate(keys) if recorded_name(key) in gone), len(keys))
    change.keeps += steps_of(keys[:place])
    effect = await change.ground.effect(run)
    change.again += [Again(step=name, effect=effect) for name in steps_of(keys[place:])]
    if step is None and run.begun:
        change.again.append(Again(step=run.job, effect=effect))
    await change.above(run)


def steps_of(keys: Sequence[str]) -> list[str]:
    """The steps of a body among what it has recorded; their items are told with them."""
    return [recorded_name(key) for key in keys if key.startswith((STEP, MAP)) and "[" not in key]


def recorded_name(key: str) -> str:
    """The step that a checkpoint is of, or one of its items."""
    return key.removeprefix(FAILED).partition(":")[2].partition("[")[0]


def retry_undo(change: Change, undo: Part, parent: Part) -> None:
    """What undoes something, and failed."""
    if undo.state not in BAD or parent.state not in BAD:
        raise refused(undo, f"it is {undo.standing}; only an undo that failed can be retried")
    change.undo = undo
    change.again.append(Again(step=undo.step or ""))


async def declare(
    change: Change, run: Part, step: str | None, state: State, result: str | None = None
) -> None:
    """A person says of a step or an item that it is skipped, or done with ``result``."""
    ground = change.ground
    verb = SAID[state]
    if run.undoes_id is not None:
        if run.state not in BAD:
            raise refused(run, f"it is {run.standing}; only an undo that failed can be {state}")
        change.declared = Declared(run, state, result)
        return
    if run.step_no is not None:
        target = run
    elif not await ground.is_flow(run):
        raise refused(run, f"it is no step; {verb} is for steps of workflows")
    elif step is None:
        raise refused(run, f"say which step: {verb} {run.id} STEP")
    else:
        target = await ground.named(await ground.flow(run.id), step)
    flow = await ground.flow_of(target)
    check_declare(flow, target, state)
    if state is State.SUCCEEDED and result is None:
        check_result(flow, target)
    change.declared = Declared(target, state, result)
    name = target.step or ""
    woken = (
        passed_on(flow, name)
        if state is State.SUCCEEDED and target.state is State.SKIPPED
        else set()
    )
    if target.is_item:
        part = await ground.part(target.parent_id or 0)
        if not part.state.ended:
            change.look(part)
            return
        change.set_back(part, anew=False, flow=flow)
        if part.state not in BAD and flow.run.state.ended:
            woken = {each for each in flow.after({name}) if flow.may_go(each)}
    await change.steps(flow, (), woken, but=name)
    await change.up(flow)


def passed_on(flow: Flow, name: str) -> set[str]:
    """Steps that never began since a skip was passed on to them, from this one."""
    found = {name}
    for spec in flow.specs.values():
        part = flow.steps.get(spec.name)
        if part is None or part.state is not State.SKIPPED or part.begun:
            continue
        if any(hard and need in found for need, hard in spec.edges.items()):
            found.add(spec.name)
    return {each for each in found - {name} if not flow.passed_over(each)}


async def fork(change: Change, run: Part, step: str | None) -> None:
    """A new run of the same version that takes over all that is not after ``step``."""
    if not await change.ground.is_flow(run):
        raise refused(run, f"it is no workflow; rerun {run.id} starts it anew")
    if not run.state.ended:
        raise refused(run, f"it still goes ({run.standing}); fork it when it has ended")
    if step is None:
        raise refused(run, f"say from which step: fork {run.id} --from STEP")
    flow = await change.ground.flow(run.id)
    flow.step(step)
    undone = {row["step"] for row in flow.undone}
    change.undone += [name for name in flow.specs if name in undone]
    fresh = {step} | flow.after({step, *undone}) | undone
    for name, spec in flow.specs.items():
        part = flow.steps[name]
        closes = flow.closes(spec)
        if closes is not None:
            change.closes[spec.no] = closes
        stays = name not in fresh or (part.state is State.SKIPPED and not flow.may_go(name))
        if stays and part.state in (State.SUCCEEDED, State.SKIPPED):
            change.keep.append(spec.no)
            if part.state is State.SUCCEEDED:
                change.keeps.append(name)
            else:
                change.stays[name] = part.state
        elif part.begun:
            await change.tell(flow, spec, part, fresh, "")
    change.follow(flow, fresh, "")


async def rerun(change: Change, run: Part) -> None:
    """A new run of the job as it is now, with the same arguments."""
    if run.step_no is not None:
        raise refused(run, f"it is a part of run {run.parent_id}; rerun that, or retry this")
    if not run.state.ended:
        raise refused(run, f"it still goes ({run.standing}); cancel it, or wait for its end")
    if await change.ground.is_flow(run):
        flow = await change.ground.flow(run.id)
        for name, part in flow.steps.items():
            if part.begun:
                await change.tell(flow, flow.specs[name], part, set(flow.specs), "")
        change.follow(flow, set(flow.specs), "")
    elif run.begun:
        change.again.append(Again(step=run.job, effect=await change.ground.effect(run)))
