"""Repairs of many runs: workers take them on bit by bit, as fast as the rate allows together.

A bulk stops by itself when what it retries fails again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from koken.engine import repair
from koken.engine.repair import Order
from koken.errors import KokenError, NotFound, Refused
from koken.store.database import Database
from koken.store.failures import TRANSIENT
from koken.store.statements import Statement

CHECK_BULK = Statement("check_bulk")
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
    query: str,
    run_ids: Sequence[int],
    *,
    workspace: str,
    rate: float,
    by: str,
    reason: str,
) -> int:
    """Have these runs retried; returns the number of the bulk."""
    (row,) = await db.fetch(MAKE_BULK, workspace, query, rate, by, reason, list(run_ids))
    made: int = row["id"]
    return made


async def foresee(db: Database, run_ids: Sequence[int]) -> Counter[str]:
    """Why some of these runs would not be retried as they stand, and how many for each reason."""
    found: Counter[str] = Counter()
    for run_id in run_ids:
        try:
            plan = await repair.plan(db, Order(verb="retry", run_id=run_id))
        except (NotFound, Refused) as error:
            found[of_any(str(error), run_id)] += 1
        else:
            if plan.needs_force:
                found[plan.wants_force] += 1
    return found


async def refusals(db: Database, bulk_id: int) -> Counter[str]:
    """Why runs of a bulk were not retried, and how many for each reason."""
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
    """Retry what is due of all bulks."""
    await db.fetch(CHECK_BULK)
    rows = await db.fetch(TAKE_FROM_BULK, AT_ONCE)
    for row in rows:
        order = Order(
            verb="retry",
            run_id=row["run_id"],
            by=row["by"],
            reason=row["reason"],
            bulk=row["bulk_id"],
        )
        try:
            await repair.repair(db, order)
        except KokenError as error:
            if isinstance(error.__cause__, TRANSIENT):
                raise
            await db.fetch(REFUSE_IN_BULK, row["bulk_id"], row["run_id"], str(error))
