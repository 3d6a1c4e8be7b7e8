"""What is done to many runs: workers take them on bit by bit, as fast as the rate allows together.

A retry stops by itself when what it retries fails again. A skip is for runs of workflows that have
failed: all their steps that did not go well count as skipped, and the others go on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from koken.engine import control, repair
from koken.engine.repair import Order
from koken.errors import KokenError, NotFound, Refused
from koken.model.bulk import BulkVerb
from koken.store.database import Database
from koken.store.failures import TRANSIENT
from koken.store.statements import Statement

CHECK_BULK = Statement("check_bulk")
DONE_IN_BULK = Statement("done_in_bulk")
FAILED_STEPS = Statement("failed_steps")
MAKE_BULK = Statement("make_bulk")
MOVE_BULK = Statement("move_bulk")
REFUSED_IN_BULK = Statement("refused_in_bulk")
REFUSE_IN_BULK = Statement("refuse_in_bulk")
TAKE_FROM_BULK = Statement("take_from_bulk")
AT_ONCE = 50
"""Runs that one sweep takes, of all bulks together."""
MOVES = {"pause": ("running",), "resume": ("paused", "stopped"), "stop": ("running", "paused")}
STATES = {"pause": "paused", "resume": "running", "stop": "stopped"}


async def make(
    db: Database,
    verb: BulkVerb,
    query: str,
    run_ids: Sequence[int],
    *,
    workspace: str,
    rate: float,
    by: str,
    reason: str,
) -> int:
    """Have it done to these runs; returns the number of the bulk."""
    (row,) = await db.fetch(MAKE_BULK, workspace, query, rate, by, reason, list(run_ids), verb)
    made: int = row["id"]
    return made


async def foresee(db: Database, verb: BulkVerb, run_ids: Sequence[int]) -> Counter[str]:
    """Why some of these runs would be left as they stand, and how many for each reason."""
    found: Counter[str] = Counter()
    for run_id in run_ids:
        try:
            for order in await orders(db, verb, run_id):
                plan = await repair.plan(db, order)
                if plan.needs_force:
                    found[plan.wants_force] += 1
        except (NotFound, Refused) as error:
            found[of_any(str(error), run_id)] += 1
    return found


async def orders(
    db: Database, verb: BulkVerb, run_id: int, *, by: str = "", reason: str | None = None
) -> list[Order]:
    """The repairs that are done to one run; none for a cancel, which is no repair.

    Raises ``Refused`` for a run of which no step has failed, when it is to be skipped.
    """
    if verb == "cancel":
        return []
    if verb == "retry":
        return [Order(verb=verb, run_id=run_id, by=by, reason=reason)]
    steps = [row["step"] for row in await db.fetch(FAILED_STEPS, run_id)]
    if not steps:
        raise Refused(f"run {run_id}: it has no step that failed", what=f"run {run_id}")
    return [Order(verb=verb, run_id=run_id, step=step, by=by, reason=reason) for step in steps]


async def refusals(db: Database, bulk_id: int) -> Counter[str]:
    """Why runs of a bulk were left as they are, and how many for each reason."""
    rows = await db.fetch(REFUSED_IN_BULK, bulk_id)
    return Counter(of_any(row["refusal"], row["run_id"]) for row in rows)


def of_any(reason: str, run_id: int) -> str:
    """A reason as it holds for other runs too, without the number of the one."""
    text = reason.removeprefix(f"run {run_id}: ")
    text = re.sub(rf"^run {run_id}\b", "it", text)
    return re.sub(rf"\b{run_id}\b", "RUN", text)


async def move(db: Database, bulk_id: int, verb: str, *, by: str, reason: str | None) -> None:
    """Pause, resume or stop a bulk. Raises ``NotFound``, ``Refused``."""
    (row,) = await db.fetch(MOVE_BULK, bulk_id, STATES[verb], list(MOVES[verb]), verb, by, reason)
    if row["was"] is None:
        raise NotFound(f"there is no bulk {bulk_id}; `koken bulk` lists them")
    if not row["moved"]:
        raise Refused(
            f"bulk {bulk_id} is {row['was']}; {verb} does nothing", what=f"bulk {bulk_id}"
        )


async def sweep(db: Database) -> None:
    """Do what is due of all bulks."""
    await db.fetch(CHECK_BULK)
    rows = await db.fetch(TAKE_FROM_BULK, AT_ONCE)
    for row in rows:
        bulk_id, run_id, verb = row["bulk_id"], row["run_id"], row["verb"]
        try:
            if verb == "cancel":
                await cancel(db, bulk_id, run_id, by=row["by"], reason=row["reason"])
                continue
            found = await orders(db, verb, run_id, by=row["by"], reason=row["reason"])
            for order in found[:-1]:
                await repair.repair(db, order)
            await repair.repair(db, replace(found[-1], bulk=bulk_id))
        except KokenError as error:
            if isinstance(error.__cause__, TRANSIENT):
                raise
            await db.fetch(REFUSE_IN_BULK, bulk_id, run_id, str(error))


async def cancel(db: Database, bulk_id: int, run_id: int, *, by: str, reason: str) -> None:
    """Cancel one run of a bulk. Raises ``Refused`` for one that has ended meanwhile."""
    done = await control.cancel(db, run_id, by=by, reason=reason)
    if done.verdict == "over":
        raise Refused(f"run {run_id}: it has ended before", what=f"run {run_id}")
    await db.fetch(DONE_IN_BULK, bulk_id, run_id)
