"""What is done to many runs: workers take them on bit by bit, as fast as the rate allows together.

A retry stops by itself: once ten of what it retried have ended, and more than half of the last
twenty of those have failed again. A skip is for runs of workflows that have failed: all their steps
that did not go well count as skipped, and the others go on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from koken.engine import control, repair
from koken.engine.ground import Ground
from koken.engine.legal import Busy
from koken.engine.repair import Order
from koken.errors import KokenError, NotFound, Refused
from koken.model.bulk import BulkVerb, of_any
from koken.store.database import Database, Transaction
from koken.store.failures import TRANSIENT
from koken.store.statements import Statement

CHECK_BULK = Statement("check_bulk")
DONE_IN_BULK = Statement("done_in_bulk")
FAILED_STEPS = Statement("failed_steps")
MAKE_BULK = Statement("make_bulk")
MOVE_BULK = Statement("move_bulk")
REFUSE_IN_BULK = Statement("refuse_in_bulk")
TAKE_FROM_BULK = Statement("take_from_bulk")
AT_ONCE = 50
"""Runs that one sweep takes, of all bulks together."""
FORESIGHT = 0.2
"""Seconds for which it is looked what would become of runs."""
MOVES = {"pause": ("running",), "resume": ("paused", "stopped"), "stop": ("running", "paused")}
STATES = {"pause": "paused", "resume": "running", "stop": "stopped"}
PLAIN = ("cancel", "acknowledge")
"""Verbs that are no repairs, and are not refused for what they would repeat."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What would become of runs of a bulk."""

    looked: int
    """How many were looked at, the first of them."""
    refusals: Counter[str]
    """Why some would be left as they stand, and how many for each reason."""


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


async def foresee(
    db: Database, verb: BulkVerb, run_ids: Sequence[int], *, seconds: float = FORESIGHT
) -> Foreseen:
    """Why some of these runs would be left as they stand.

    It reads and holds no rows, and ends after so many ``seconds``: with less of them looked at.
    """
    if verb in PLAIN:
        return Foreseen(len(run_ids), Counter())
    return await db.run(lambda tx: looked(tx, verb, run_ids, seconds))


async def looked(
    tx: Transaction, verb: BulkVerb, run_ids: Sequence[int], seconds: float
) -> Foreseen:
    """What would become of these runs, as far as the time goes."""
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    ground = Ground(tx)
    await ground.read(run_ids)
    found: Counter[str] = Counter()
    for no, run_id in enumerate(run_ids):
        if no and clock() >= end:
            return Foreseen(no, found)
        try:
            for order in await orders(tx, verb, run_id):
                change, run = await repair.decided(ground, order)
                plan = await repair.outlined(order, change, run)
                if plan.needs_force:
                    found[plan.wants_force] += 1
                    break
        except (NotFound, Refused) as error:
            found[of_any(str(error), run_id)] += 1
        except Busy:
            continue  # for a moment only
    return Foreseen(len(run_ids), found)


async def orders(
    db: Database | Transaction,
    verb: BulkVerb,
    run_id: int,
    *,
    by: str = "",
    reason: str | None = None,
) -> list[Order]:
    """The repairs that are done to one run; none for what is no repair.

    Raises ``Refused`` for a run of which no step has failed, when it is to be skipped.
    """
    if verb in PLAIN:
        return []
    if verb == "retry":
        return [Order(verb=verb, run_id=run_id, by=by, reason=reason)]
    steps = [row["step"] for row in await db.fetch(FAILED_STEPS, run_id)]
    if not steps:
        raise Refused(f"run {run_id}: it has no step that failed", what=f"run {run_id}")
    return [Order(verb="skip", run_id=run_id, step=step, by=by, reason=reason) for step in steps]


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
            if verb in PLAIN:
                does = cancel if verb == "cancel" else acknowledge
                await does(db, bulk_id, run_id, by=row["by"], reason=row["reason"])
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


async def acknowledge(db: Database, bulk_id: int, run_id: int, *, by: str, reason: str) -> None:
    """Acknowledge one failure of a bulk. Raises ``Refused`` where somebody did so before."""
    await control.acknowledge(db, run_id, by=by, reason=reason)
    await db.fetch(DONE_IN_BULK, bulk_id, run_id)
