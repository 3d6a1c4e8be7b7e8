"""The moment a schedule is due: its ticks are recorded and their runs started, all in one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from koken.model.firing import Firing, Firings, firings
from koken.model.schedule import Schedule
from koken.store.database import Database, Row, Transaction
from koken.store.statements import Statement

DUE_SCHEDULES = Statement("due_schedules")
FIRE = Statement("fire")
MOVE_SCHEDULES = Statement("move_schedules")
NOW = Statement("now")
PAGE = 200


async def fire(db: Database) -> int:
    """Fire all due schedules; returns how many were looked at.

    A schedule's row is held while it fires, so two schedulers never fire one tick. A schedule
    whose next time cannot be computed is set aside with the reason, and the others go on.
    """
    seen = 0
    while True:
        page = await db.run(fire_page)
        seen += page
        if page < PAGE:
            return seen


async def fire_page(tx: Transaction) -> int:
    """One page of due schedules, in one transaction."""
    rows = await tx.fetch(DUE_SCHEDULES)
    if not rows:
        return 0
    now: datetime = (await tx.fetch(NOW))[0]["now"]
    plans: list[tuple[Row, Firings | None, str | None]] = [look(row, now) for row in rows]
    ticks = [(row["id"], tick) for row, plan, _ in plans if plan for tick in plan.ticks]
    if ticks:
        await tx.fetch(FIRE, *columns(ticks))
    await tx.fetch(
        MOVE_SCHEDULES,
        [row["id"] for row, _, _ in plans],
        [plan.next_at if plan else None for _, plan, _ in plans],
        [plan.cursor_at if plan else row["cursor_at"] for row, plan, _ in plans],
        [problem for _, _, problem in plans],
    )
    return len(rows)


def look(row: Row, now: datetime) -> tuple[Row, Firings | None, str | None]:
    """What a schedule does now, or why that cannot be said."""
    try:
        schedule = Schedule.from_json(json.loads(row["declared"]))
        plan = firings(
            schedule,
            cursor_at=row["cursor_at"],
            now=now,
            job=row["job"],
            workspace=row["workspace"],
        )
    except Exception as error:
        # one schedule that cannot be computed must not stop the others
        return row, None, f"{type(error).__name__}: {error}"
    return row, plan, None


def columns(ticks: Sequence[tuple[int, Firing]]) -> tuple[list[Any], ...]:
    """Ticks as the statement's arrays."""
    return (
        [schedule_id for schedule_id, _ in ticks],
        [tick.due_at for _, tick in ticks],
        [tick.until_at for _, tick in ticks],
        [tick.count for _, tick in ticks],
        [tick.since_at for _, tick in ticks],
        [tick.verdict for _, tick in ticks],
        [tick.reason for _, tick in ticks],
        [json.dumps(tick.args) for _, tick in ticks],
        [tick.delay for _, tick in ticks],
    )
