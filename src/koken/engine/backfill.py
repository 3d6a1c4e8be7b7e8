"""The moment due times of the past get the runs that they never had: once each, and paced."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from koken.engine.events import record
from koken.engine.grant import grant
from koken.engine.start import WAITING_LOCKS
from koken.errors import InvalidArguments, NotFound, Refused
from koken.model import codec
from koken.model.backfill import (
    MOST_LOOKED_AT,
    MOST_RUNS,
    Backfilled,
    BackfillPlan,
    notes,
    sorted_out,
    taken_out,
)
from koken.model.firing import INSTANT, filled
from koken.model.schedule import Schedule
from koken.store.database import Database, Row, Transaction
from koken.store.statements import Statement

BACKFILLED_SCHEDULE = Statement("backfilled_schedule")
HOLD_SCHEDULE = Statement("hold_schedule")
TICKS_WITHIN = Statement("ticks_within")
SPLIT_TICKS = Statement("split_ticks")
BACKFILL = Statement("backfill")
PACE_BACKFILL = Statement("pace_backfill")
PAGE = 100
"""Runs of one transaction, during which the schedule itself does not fire."""
AT_ONCE = 100
"""Runs of a backfill that may go at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is wanted: runs for the due times from ``since`` on and before ``until``."""

    schedule_id: int
    workspace: str
    since: datetime
    until: datetime
    at_once: int = 1
    by: str = ""
    reason: str | None = None


async def plan(db: Database, order: Order, *, keep: float) -> BackfillPlan:
    """What a backfill would do now. ``keep`` is for how many seconds ticks are remembered.

    Raises ``NotFound``, ``InvalidArguments`` for a stretch that cannot be, or of too many due
    times, and ``Refused`` for a schedule that its job has no more.
    """
    check(order)
    return await planned_by(db, order, await found(db, order), keep)


async def planned_by(db: Database, order: Order, row: Row, keep: float) -> BackfillPlan:
    """What a backfill would do by a schedule as it stands."""
    schedule = schedule_of(row)
    check_pace(order, row)
    due = await asyncio.to_thread(due_within, schedule, order)
    ticks = await db.fetch(TICKS_WITHIN, order.schedule_id, order.since, order.until)
    wanted, kept = sorted_out(due, ticks, row)
    if len(wanted) > MOST_RUNS:
        raise InvalidArguments(
            f"{len(wanted):,} due times have no run; one backfill starts at most {MOST_RUNS:,}. "
            f"The first {MOST_RUNS:,} are those before {wanted[MOST_RUNS].isoformat()}",
            {"to": f"at most {MOST_RUNS:,} runs"},
        )
    return BackfillPlan(
        job=row["job"],
        schedule_id=row["id"],
        schedule=row["name"],
        words=schedule.in_words(),
        timezone=schedule.zone,
        since=order.since,
        until=order.until,
        at_once=order.at_once,
        due=tuple(wanted),
        kept=kept,
        notes=notes(wanted, row, row["now"] - timedelta(seconds=keep)),
    )


async def backfill(db: Database, order: Order, *, keep: float) -> Backfilled:
    """Start them, a page in a transaction, the oldest first; raises as ``plan`` does.

    A due time gets one run, however many people ask for it at once. What is broken off is made up
    for by asking again.
    """
    check(order)
    row = await found(db, order)
    planned = await planned_by(db, order, row, keep)
    runs: list[int] = []
    existed: list[datetime] = []
    for begin in range(0, len(planned.due), PAGE):
        page = planned.due[begin : begin + PAGE]
        declared = row["declared"]
        due: Sequence[datetime] = page
        work = partial(start_page, order=order, planned=planned, first=not runs)
        while (done := await db.run(partial(work, due=due, declared=declared))) is None:
            now = await found(db, order)
            declared = now["declared"]
            due = await asyncio.to_thread(still_due, schedule_of(now), page)
        ids, wanted = done
        locks = await db.fetch(WAITING_LOCKS, ids)
        await grant(db, [each["lock_id"] for each in locks])
        runs += ids
        existed += [due for due in page if due not in wanted]
    return Backfilled(plan=planned, runs=tuple(runs), existed=tuple(existed))


async def start_page(
    tx: Transaction,
    order: Order,
    planned: BackfillPlan,
    due: Sequence[datetime],
    declared: str,
    *,
    first: bool,
) -> tuple[list[int], list[datetime]] | None:
    """Start what of these due times has no run yet, and for when; the schedule is held meanwhile.

    They are of the schedule as it was ``declared``; None where it is declared otherwise by now.
    """
    await tx.fetch(HOLD_SCHEDULE, order.schedule_id)
    row = await found(tx, order)
    if row["declared"] != declared:
        return None
    if not due:
        return [], []
    schedule = schedule_of(row)
    ticks = await tx.fetch(TICKS_WITHIN, order.schedule_id, due[0], due[-1])
    wanted, _ = sorted_out(due, ticks, row)
    if not wanted:
        return [], []
    if first:
        await record_backfill(tx, order, planned, row)
    await split(tx, schedule, ticks, wanted, order.schedule_id)
    zone = ZoneInfo(schedule.zone)
    texts = [
        codec.encode(
            filled(schedule.args, due.astimezone(zone), order.workspace), name="the arguments"
        )
        for due in wanted
    ]
    told = f"backfilled by {order.by}" + (f": {order.reason}" if order.reason else "")
    started = await tx.fetch(
        BACKFILL, row["id"], row["job"], order.workspace, wanted, texts, order.by, told
    )
    ids = [each["run_id"] for each in started]
    if row["overlap"] == "allow":
        key = f"{row['job']} {row['name']}"
        await tx.fetch(PACE_BACKFILL, ids, row["workspace_id"], key, order.at_once)
    return ids, wanted


async def found(db: Database | Transaction, order: Order) -> Row:
    """The schedule. Raises ``NotFound`` and ``Refused``."""
    rows = await db.fetch(BACKFILLED_SCHEDULE, order.schedule_id, order.workspace)
    if not rows:
        raise NotFound(
            f"there is no schedule {order.schedule_id} here; `koken schedules` lists them"
        )
    if rows[0]["retired_at"] is not None:
        raise Refused(
            f"{rows[0]['job']} has had no schedule {rows[0]['name']!r} since "
            f"{rows[0]['retired_at']:%Y-%m-%d %H:%M} UTC; start its runs one by one, "
            "each with its logical time",
            what=f"schedule {order.schedule_id}",
        )
    return rows[0]


def check(order: Order) -> None:
    """Refuse a stretch without length, and a number that paces nothing."""
    if order.since >= order.until:
        raise InvalidArguments(
            f"from {order.since.isoformat()} to {order.until.isoformat()} is no stretch of time",
            {"to": "comes after from"},
        )
    if not 1 <= order.at_once <= AT_ONCE:
        raise InvalidArguments(
            f"{order.at_once} runs at once; give a number from 1 to {AT_ONCE}",
            {"at_once": f"is between 1 and {AT_ONCE}"},
        )


def check_pace(order: Order, row: Mapping[str, Any]) -> None:
    """Refuse several at once of a job that lets only one go."""
    if order.at_once > 1 and row["overlap"] != "allow":
        raise InvalidArguments(
            f"scheduled runs of {row['job']} go one at a time (overlap {row['overlap']}); "
            "leave at_once at 1",
            {"at_once": "is 1 for this job"},
        )


def due_within(schedule: Schedule, order: Order) -> list[datetime]:
    """All due times of the stretch. Raises ``InvalidArguments`` when there are too many."""
    due = schedule.due_between(order.since - INSTANT, order.until - INSTANT, MOST_LOOKED_AT + 1)
    if len(due) > MOST_LOOKED_AT:
        raise InvalidArguments(
            f"there are more than {MOST_LOOKED_AT:,} due times before {order.until.isoformat()}; "
            f"give a shorter stretch, such as up to {due[MOST_LOOKED_AT // 2].isoformat()}",
            {"to": f"at most {MOST_LOOKED_AT:,} due times"},
        )
    return [each.astimezone(UTC) for each in due]


def still_due(schedule: Schedule, page: Sequence[datetime]) -> list[datetime]:
    """Those of a page that are due times of a schedule as it is now."""
    due = schedule.due_between(page[0] - INSTANT, page[-1], MOST_LOOKED_AT)
    return sorted({each.astimezone(UTC) for each in due} & set(page))


def schedule_of(row: Row) -> Schedule:
    """A schedule as it is declared."""
    return Schedule.from_json(json.loads(row["declared"]))


async def split(
    tx: Transaction,
    schedule: Schedule,
    ticks: Sequence[Row],
    wanted: Sequence[datetime],
    schedule_id: int,
) -> None:
    """Take due times out of the ticks that stand for a stretch of them; the rest stays."""
    gone, rests = await asyncio.to_thread(taken_out, schedule, ticks, wanted)
    if gone:
        columns = [list(column) for column in zip(*rests, strict=True)] or [[]] * 5
        await tx.fetch(SPLIT_TICKS, schedule_id, gone, *columns)


async def record_backfill(
    tx: Transaction, order: Order, planned: BackfillPlan, row: Mapping[str, Any]
) -> None:
    """Write down who wanted what."""
    detail = {
        "schedule": str(planned.schedule_id),
        "name": planned.schedule,
        "from": order.since.isoformat(),
        "to": order.until.isoformat(),
        "runs": len(planned.due),
        "at_once": order.at_once,
    }
    await record(
        tx,
        "backfill",
        order.by,
        reason=order.reason,
        job_id=row["job_id"],
        workspace_id=row["workspace_id"],
        detail=detail,
    )
