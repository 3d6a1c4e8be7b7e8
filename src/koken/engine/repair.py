"""Repair by people: each verb computes its plan under row locks, and does that or nothing."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from koken.engine import decide
from koken.engine.change import Change
from koken.engine.events import RECORD_EVENT
from koken.engine.grant import pass_on
from koken.engine.ground import Ground, Part
from koken.engine.legal import Busy
from koken.engine.start import WAITING_LOCKS
from koken.errors import InvalidArguments, KokenError, Refused
from koken.model.hiding import masked
from koken.model.plan import Plan, Taken
from koken.model.states import State
from koken.store.database import Database, Transaction
from koken.store.statements import Statement

Verb = Literal["retry", "rerun", "skip", "resolve", "fork"]
VERBS = ("retry", "rerun", "skip", "resolve", "fork")
BUMP_PARENT = Statement("bump_parent")
DONE_IN_BULK = Statement("done_in_bulk")
DECLARE_END = Statement("declare_end")
FORGET_FROM = Statement("forget_from")
FORK_RUN = Statement("fork_run")
LOOK_AGAIN = Statement("look_again")
REPAIR_LOCK = Statement("repair_lock")
REPAIR_LOCKS = Statement("repair_locks")
RUN_AGAIN = Statement("run_again")
SET_ARGS = Statement("set_args")
SET_BACK = Statement("set_back")
SET_ORIGIN = Statement("set_origin")
START_LIKE = Statement("start_like")
UNDO_AGAIN = Statement("undo_again")
TRIALS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a person wants repaired, and how."""

    verb: Verb
    run_id: int
    step: str | None = None
    """From which step on, or which step it is about; ``table[3]`` is an item."""
    args: str | None = None
    """JSON text of other arguments."""
    result: str | None = None
    """JSON text of what a step is resolved with."""
    by: str = ""
    reason: str | None = None
    force: bool = False
    bulk: int | None = None
    """The bulk in whose turn it is."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair came to."""

    run_id: int
    """The run that was repaired, or the new one."""
    plan: Plan


@dataclass
class After:
    """What follows once a repair is committed."""

    queue_ids: list[int] = field(default_factory=list)
    lock_ids: list[int] = field(default_factory=list)


class Stale(KokenError):
    """Rows have changed between the look and the locks."""


async def plan(db: Database, order: Order) -> Plan:
    """What the repair would do now. Raises as the repair itself does; changes nothing."""
    for trial in range(TRIALS):
        try:
            return await db.run(lambda tx: planned(tx, order))
        except Busy as error:
            await rest(trial, error)
    raise AssertionError("the last round returns or raises")


async def planned(tx: Transaction, order: Order) -> Plan:
    """The plan of a repair."""
    change, run = await decided(Ground(tx), order)
    return await told(tx, order, change, run)


async def repair(db: Database, order: Order) -> Repaired:
    """Carry out a repair: all of it, or nothing.

    Raises ``NotFound``; ``Refused`` when it is not legal as things stand, or would repeat something
    unsafe and nobody said that they mean it; ``Overlapping`` when another run holds its key.
    """
    if order.force and not order.reason:
        raise InvalidArguments("force wants a reason: say why it is safe this time")
    for trial in range(TRIALS):
        after = After()
        try:
            done = await db.run(lambda tx, after=after: carried(tx, order, after))  # type: ignore[misc]
        except (Busy, Stale) as error:
            await rest(trial, error)
            continue
        await pass_on(db, {"queue_ids": after.queue_ids, "lock_ids": after.lock_ids})
        return done
    raise AssertionError("the last round returns or raises")


async def rest(trial: int, error: Exception) -> None:
    """Wait a little before another look. Raises ``Refused`` after the last."""
    if trial == TRIALS - 1:
        raise Refused(f"{error}; nothing was done, try again", what="run") from error
    await asyncio.sleep(random.uniform(0, 0.01 * 2**trial))


async def decided(ground: Ground, order: Order) -> tuple[Change, Part]:
    """What the repair changes, by the rows as they stand."""
    change = Change(ground)
    run = await change.ground.part(order.run_id)
    match order.verb:
        case "retry":
            await decide.retry(change, run, order.step)
        case "skip":
            await decide.declare(change, run, order.step, State.SKIPPED)
        case "resolve":
            await decide.declare(change, run, order.step, State.SUCCEEDED, order.result)
        case "fork":
            await decide.fork(change, run, order.step)
        case "rerun":
            await decide.rerun(change, run)
    if order.args is not None and (run.step_no is not None or not run.state.ended):
        raise Refused(
            f"run {run.id}: its arguments cannot be replaced: "
            + ("it is a part of another run" if run.step_no is not None else "it still goes"),
            what=f"run {run.id}",
        )
    return change, run


async def told(tx: Transaction, order: Order, change: Change, run: Part) -> Plan:
    """A change as a plan."""
    locks: list[Taken] = []
    for run_id, numbers in change.locks.items():
        of_items = list(change.of_items.get(run_id, ()))
        rows = await tx.fetch(REPAIR_LOCKS, run_id, sorted(numbers), of_items)
        locks += [Taken(row["key"], row["held_by"]) for row in rows]
    return await outlined(order, change, run, locks)


async def outlined(order: Order, change: Change, run: Part, locks: Sequence[Taken] = ()) -> Plan:
    """A change as a plan, with the locks that it takes as far as those were looked up."""
    spec = await change.ground.version(run.version_id)
    return Plan(
        verb=order.verb,
        run=run.id,
        job=run.job,
        from_step=order.step,
        timezone=spec.get("timezone", "UTC"),
        again=tuple(change.again),
        then=tuple(change.then),
        keeps=tuple(change.keeps),
        stays=change.stays,
        undone=tuple(change.undone),
        locks=tuple(locks),
        max_attempts=None if order.verb in ("rerun", "fork") else change.max_attempts,
    )


async def carried(tx: Transaction, order: Order, after: After) -> Repaired:
    """Plan a repair, hold the rows still, and carry it out."""
    if order.bulk is not None and not await tx.fetch(DONE_IN_BULK, order.bulk, order.run_id):
        raise Refused(f"run {order.run_id}: bulk {order.bulk} is done with it", what="run")
    change, run = await decided(Ground(tx), order)
    watched = change.watched
    for row in await tx.fetch(REPAIR_LOCK, list({*watched, run.id})):
        seen = watched.get(row["id"], run)
        if (row["state"], row["lease"]) != (seen.state, seen.lease):
            raise Stale(f"{seen.called} has just moved on ({row['state']})")
    found = await told(tx, order, change, run)
    if found.needs_force and not order.force:
        raise Refused(f"run {run.id}: {found.wants_force}", what=f"run {run.id}")
    made = await new_run(tx, order, change, after)
    if made is None:
        await move(tx, order, change, after)
    await record(tx, order, change, run, made)
    return Repaired(made or run.id, found)


async def new_run(tx: Transaction, order: Order, change: Change, after: After) -> int | None:
    """The run that a fork or a rerun makes."""
    if order.verb == "fork":
        numbers, closes = list(change.closes), list(change.closes.values())
        (row,) = await tx.fetch(FORK_RUN, order.run_id, order.by, change.keep, numbers, closes)
        made: int = row["id"]
    elif order.verb == "rerun":
        (row,) = await tx.fetch(START_LIKE, order.run_id, order.by)
        made = row["run_id"]
        await tx.fetch(SET_ORIGIN, made, order.run_id, "rerun")
    else:
        return None
    after.lock_ids += [row["lock_id"] for row in await tx.fetch(WAITING_LOCKS, [made])]
    return made


async def move(tx: Transaction, order: Order, change: Change, after: After) -> None:
    """Move the rows, those farthest down first."""
    if change.forgets is not None:
        await tx.fetch(FORGET_FROM, order.run_id, change.forgets)
    if change.back:
        back = sorted(change.back.values(), key=lambda each: -each.part.id)
        await tx.fetch(
            SET_BACK,
            [each.part.id for each in back],
            [each.anew for each in back],
            [each.attempt for each in back],
            [each.max_attempts for each in back],
            [each.closes for each in back],
        )
    if change.declared is not None:
        said = change.declared
        error = None
        if said.state is State.SKIPPED:
            message = f"skipped by {order.by}" + (f": {order.reason}" if order.reason else "")
            error = json.dumps({"type": "Skip", "message": message})
        (row,) = await tx.fetch(DECLARE_END, said.part.id, said.state.value, said.result, error)
        after.lock_ids += row["lock_ids"]
    if change.undo is not None:
        (row,) = await tx.fetch(UNDO_AGAIN, change.undo.id)
        after.queue_ids += [row["queue_id"]]
    tops = [part.id for part in change.tops]
    if order.args is not None and order.run_id not in tops:
        await tx.fetch(SET_ARGS, order.run_id, order.args)
    for run_id in tops:
        await tx.fetch(BUMP_PARENT, run_id)
        await tx.fetch(RUN_AGAIN, run_id, order.args if run_id == order.run_id else None)
    if tops:
        after.lock_ids += [row["lock_id"] for row in await tx.fetch(WAITING_LOCKS, tops)]
    for run_id in change.live:
        (row,) = await tx.fetch(LOOK_AGAIN, run_id)
        after.queue_ids += row["queue_ids"] or ()
        after.lock_ids += row["lock_ids"] or ()


async def record(
    tx: Transaction, order: Order, change: Change, run: Part, made: int | None
) -> None:
    """Write down who did what, and why; with its workflow where the run is a part of one."""
    about = run
    step = order.step
    if run.step_no is not None:
        step = run.named
        if run.undoes_id is None:
            about = (await change.ground.flow_of(run)).run
    target = change.declared.part if change.declared is not None else None
    named = target is None and order.step is not None and order.verb == "retry"
    if named and await change.ground.is_flow(run):
        flow = await change.ground.flow(run.id)
        target = await change.ground.named(flow, order.step or "")
    detail: dict[str, Any] = {"from": (target or run).state.value}
    if step is not None:
        detail["step"] = step
    if order.args is not None:
        spec = await change.ground.version(run.version_id)
        detail["args"] = masked(json.loads(order.args), (), spec["parameters"])
    if order.result is not None:
        detail["result"] = json.loads(order.result)
    if order.force:
        detail["force"] = True
    if change.again:
        detail["again"] = [each.step for each in change.again[:20]]
    if made is not None:
        detail["run"] = str(made)
    if order.bulk is not None:
        detail["bulk"] = str(order.bulk)
    await tx.fetch(
        RECORD_EVENT,
        about.workspace_id,
        order.verb,
        order.by,
        order.reason,
        about.id,
        about.job_id,
        json.dumps(detail),
    )
