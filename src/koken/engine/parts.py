"""The moments of runs that are made of runs: opened, spread, gone on with, undone, stopped."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from koken.engine.claim import Claimed, Room, taken
from koken.engine.grant import pass_on
from koken.errors import InvalidArguments
from koken.model import codec
from koken.model.runparts import Failure
from koken.model.states import State
from koken.model.steps import Join
from koken.store.database import Database, Row, Transaction
from koken.store.statements import Statement

AFTER_END = Statement("after_end")
CANCEL_CHILDREN = Statement("cancel_children")
CANCELLING_PARENTS = Statement("cancelling_parents")
CHILDREN_OF = Statement("children_of")
FORGIVE = Statement("forgive")
INPUTS = Statement("inputs")
ITEMS_OF = Statement("items_of")
OPEN_RUN = Statement("open_run")
REOPEN_RUN = Statement("reopen_run")
REOPEN_CHILD = Statement("reopen_child")
SPREAD_RUN = Statement("spread_run")
UNDO_RUN = Statement("undo_run")
OWN_RESULT = Statement("own_result")
UNDOABLE = Statement("undoable")
PASSES = 50
"""Looks at a level below a run that is to end; then the sweep goes on with it."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A parent that its own statement has parked: to where, and the queues that got something."""

    state: State | None
    """None: it was not ours any more, or somebody wants it cancelled."""
    ready_queues: set[int]
    taken: Sequence[Claimed] = ()
    """Children that go on with the same worker at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the calendar says of a step: its gate and its window."""

    no: int
    skip: str | None = None
    """Why it does not go on that day."""
    not_before: datetime | None = None
    closes: datetime | None = None
    late_skips: bool | None = None
    """What its window's end does to it when it has not begun: skip it, else fail it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """What the children of a run have come to."""

    total: int
    succeeded: int
    skipped: int
    failed: int
    cancelled: int
    open: int
    """Released and not ended, undo steps included."""
    not_begun: int = 0
    first_bad: str = ""
    """The step that failed first, or was cancelled."""
    error: Failure | None = None
    """Its error."""
    bad_steps: Sequence[str] = field(default_factory=tuple)
    """Some of those that failed or were cancelled, by number."""
    undo_failed: Sequence[str] = field(default_factory=tuple)
    own_error: str | None = None
    """What is said of the parent itself, as JSON text."""


async def open_run(
    db: Database, run_id: int, lease: int, held: Sequence[Held], *, fail_fast: bool, room: Room
) -> Moved:
    """Bring the steps of a run into being; it waits for them. ``room``: see ``finish``."""
    return await moved(
        db,
        OPEN_RUN,
        run_id,
        lease,
        [each.no for each in held],
        [each.skip for each in held],
        [each.not_before for each in held],
        [each.closes for each in held],
        [each.late_skips for each in held],
        fail_fast,
        list(room.queue_ids),
        room.slots,
    )


async def count_items(
    db: Database, flow_id: int, step_no: int | None, argument: str | None, *, step: str
) -> int:
    """How many items a step spreads into. Raises ``InvalidArguments`` when they are no list."""
    (row,) = await db.fetch(ITEMS_OF, flow_id, step_no, argument)
    if row["kind"] != "array":
        what = "nothing" if row["kind"] in (None, "null") else f"a JSON {row['kind']}"
        raise InvalidArguments(f"step {step}: its items are to be a list; they are {what}")
    return int(row["total"])


async def spread_run(
    db: Database,
    run_id: int,
    lease: int,
    *,
    flow_id: int,
    parameter: str,
    step_no: int | None,
    argument: str | None,
    at_once: int | None,
    tolerated: int | None,
) -> Moved:
    """Bring one run for each item into being; the step waits for them."""
    places = (flow_id, parameter, step_no, argument)
    return await moved(db, SPREAD_RUN, run_id, lease, *places, at_once, tolerated)


async def reopen_run(db: Database, run_id: int, lease: int, *, fail_fast: bool) -> Moved:
    """Go on with the children of a run that a person has set going again."""
    return await moved(db, REOPEN_RUN, run_id, lease, fail_fast)


async def reopen_child(db: Database, run_id: int, lease: int) -> Moved:
    """Go on with the run that a step has started, which a person has set back.

    Raises ``Overlapping`` when another run holds its key by now.
    """
    return await moved(db, REOPEN_CHILD, run_id, lease)


async def moved(db: Database, statement: Statement, *args: Any) -> Moved:
    """Carry out a parent's own statement, and what follows it."""
    (row,) = await db.fetch(statement, *args)
    if row["state"] is None:
        return Moved(None, set())
    found = taken(row["taken"]) if "taken" in row else []  # a driver's row
    return Moved(State(row["state"]), await pass_on(db, row), found)


async def undo_run(
    db: Database,
    run_id: int,
    lease: int,
    *,
    settle: State,
    error: str | None,
    undoing: Sequence[tuple[str, int, int]],
) -> Moved:
    """Undo steps, one after the other; the run ends as ``settle`` when they are through.

    ``undoing`` are names, the runs whose work is undone, and how many attempts each undo has.
    """
    names, runs, attempts = zip(*undoing, strict=True)
    (row,) = await db.fetch(
        UNDO_RUN, run_id, lease, settle.value, error, list(names), list(runs), list(attempts)
    )
    if row["state"] is None:
        return Moved(None, set())
    return Moved(State(row["state"]), await pass_on(db, {**row, "lock_ids": None}))


async def children_of(db: Database, run_id: int) -> Children:
    """What the children of a run have come to."""
    (row,) = await db.fetch(CHILDREN_OF, run_id)
    return Children(
        total=row["total"],
        succeeded=row["succeeded"],
        skipped=row["skipped"],
        failed=row["failed"],
        cancelled=row["cancelled"],
        open=row["open"],
        not_begun=row["not_begun"],
        first_bad=row["first_step"] or "",
        error=failure(row["error"]),
        bad_steps=tuple(row["worst"] or ()),
        undo_failed=tuple(row["undo_steps"] or ()),
        own_error=row["own_error"],
    )


async def forgive(db: Database, run_id: int) -> None:
    """Count the items that failed, and are borne, as skipped."""
    await db.fetch(FORGIVE, run_id)


async def inputs(
    db: Database, wanted: Sequence[tuple[int, int, bool]], flow_ids: Sequence[int]
) -> list[Row]:
    """Results of steps, (workflow run, step, whether it has items), and arguments of workflows."""
    return await db.fetch(
        INPUTS,
        [each[0] for each in wanted],
        [each[1] for each in wanted],
        [each[2] for each in wanted],
        list(flow_ids),
    )


async def ending(db: Database, statement: Statement) -> Row:
    """Carry out a statement that ends runs, and what follows their end in the same transaction."""

    async def work(tx: Transaction) -> dict[str, Any]:
        (row,) = await tx.fetch(statement)
        found = dict(row)
        if found["followed"]:
            (more,) = await tx.fetch(AFTER_END, found["followed"])
            for name in ("queue_ids", "lock_ids"):
                found[name] = [*(found[name] or ()), *more[name]]
        return found

    row = await db.run(work)
    await pass_on(db, row)
    return row


async def stop_children(
    db: Database, run_ids: Sequence[int], reason: str, *, spared: Sequence[Join] = ()
) -> None:
    """Have everything below these runs end; level by level, until all of it knows.

    ``spared``: steps of these runs that join so are left alone.
    """
    level = list(run_ids)
    trial = 0
    while level and trial < PASSES:
        (row,) = await db.fetch(CANCEL_CHILDREN, level, reason, list(spared))
        await pass_on(db, row)
        if row["unasked"]:
            trial += 1
            await asyncio.sleep(random.uniform(0, min(0.005 * 2**trial, 0.2)))
        else:
            level, spared, trial = row["below_ids"], (), 0


async def stop_rest(db: Database) -> None:
    """Go on with cancels that were broken off: finds from rows alone what is left of them."""
    for row in await db.fetch(CANCELLING_PARENTS):
        await stop_children(db, [row["id"]], row["reason"])


def failure(text: str | None) -> Failure | None:
    """A stored error."""
    return None if text is None else Failure.from_json(codec.decode(text))
