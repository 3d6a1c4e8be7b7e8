"""What people tell schedules to do, and what becomes of the due times of a pause."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from koken.engine.fire import FIRE, MOVE_SCHEDULES, columns
from koken.model.firing import SKIPPED, stretch
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
            await pass_over(tx, row, now)
        await tx.fetch(RESUME_SCHEDULES, [row["id"] for row in rows], by, reason)
        return len(rows)

    return await db.run(work)


async def pass_over(tx: Transaction, row: Mapping[str, Any], now: datetime) -> None:
    """Record what a pause has skipped, and go on from now."""
    schedule = Schedule.from_json(json.loads(row["declared"]))
    if schedule.catchup in (Catchup.ALL, Catchup.COALESCE):
        return
    why = f"paused by {row['paused_by']} since {row['paused_at']:%Y-%m-%d %H:%M} UTC"
    for tick in stretch(schedule, row["cursor_at"], now, SKIPPED, why):
        await tx.fetch(FIRE, *columns([(row["id"], tick)]))
    await tx.fetch(MOVE_SCHEDULES, [row["id"]], [schedule.next_after(now)], [now], [None])
