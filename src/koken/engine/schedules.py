"""What people tell schedules to do, and what becomes of the due times of a pause."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from koken.engine.events import record
from koken.engine.fire import FIRE, MOVE_SCHEDULES, columns
from koken.model.firing import SKIPPED, Firing, stretch
from koken.model.schedule import Catchup, Schedule
from koken.store.database import Database, Transaction
from koken.store.statements import Statement

PAUSE_SCHEDULES = Statement("pause_schedules")
PAUSED_SCHEDULES = Statement("paused_schedules")
RESUME_SCHEDULES = Statement("resume_schedules")
NOW = Statement("now")


async def pause(
    db: Database,
    job: str,
    *,
    workspace: str,
    by: str,
    reason: str | None,
    schedule: int | None = None,
) -> int:
    """Stop the schedules of a job in a workspace, or one of them; returns how many were going."""
    return len(await db.fetch(PAUSE_SCHEDULES, job, workspace, by, reason, schedule))


async def resume(
    db: Database,
    job: str,
    *,
    workspace: str,
    by: str,
    reason: str | None,
    schedule: int | None = None,
) -> int:
    """Let the schedules of a job, or one of them, fire again; returns how many were paused.

    What fell due meanwhile is recorded as skipped, in one tick; it is made up for only where the
    schedule asks for that by ``catchup`` ``all`` or ``coalesce``.
    """

    async def work(tx: Transaction) -> int:
        rows = await tx.fetch(PAUSED_SCHEDULES, job, workspace, schedule)
        now: datetime = (await tx.fetch(NOW))[0]["now"]
        for row in rows:
            passed = await asyncio.to_thread(passed_over, row, now)
            if passed is not None:
                ticks, next_at = passed
                for tick in ticks:
                    await tx.fetch(FIRE, *columns([(row["id"], tick)]))
                await tx.fetch(MOVE_SCHEDULES, [row["id"]], [next_at], [now], [None])
        await tx.fetch(RESUME_SCHEDULES, [row["id"] for row in rows], by, reason)
        return len(rows)

    return await db.run(work)


async def ran_now(
    db: Database, run_id: int, job_id: int, told: Mapping[str, str], *, by: str, reason: str | None
) -> None:
    """Record that somebody had a run start as a schedule would have had it, and why.

    ``told`` says which schedule.
    """

    async def work(tx: Transaction) -> None:
        await record(tx, "start", by, reason=reason, run_id=run_id, job_id=job_id, detail=told)

    await db.run(work)


def passed_over(
    row: Mapping[str, Any], now: datetime
) -> tuple[list[Firing], datetime | None] | None:
    """What a pause has skipped, and when the schedule is due next; None where it makes up for that.

    A long pause of many due times takes a while to be counted.
    """
    schedule = Schedule.from_json(json.loads(row["declared"]))
    if schedule.catchup in (Catchup.ALL, Catchup.COALESCE):
        return None
    why = f"paused by {row['paused_by']} since {row['paused_at']:%Y-%m-%d %H:%M} UTC"
    skipped = stretch(schedule, row["cursor_at"], now, SKIPPED, why)
    return skipped, schedule.next_after(now)
