"""The moment a schedule is due: its ticks are recorded and their runs started, all in one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
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
MOST_TICKS = 500
"""Ticks of one transaction, above which the rest of a page waits for the next."""
DEFERRED = "deferred"
PATIENCE = timedelta(seconds=1)
"""Until a schedule is looked at again whose start met a key in somebody's open transaction."""


async def fire(db: Database) -> int:
    """Fire all due schedules; returns how many were looked at.

    A schedule's row is held while it fires, so two schedulers never fire one tick. A schedule
    whose next time cannot be computed is set aside with the reason, and the others go on.
    """
    seen = 0
    more = True
    while more:
        page, more = await db.run(fire_page)
        seen += page
    return seen


async def fire_page(tx: Transaction) -> tuple[int, bool]:
    """A page of due schedules in one transaction; also says whether there may be more."""
    rows = await tx.fetch(DUE_SCHEDULES)
    if not rows:
        return 0, False
    now: datetime = (await tx.fetch(NOW))[0]["now"]
    looks = planned(rows, now)
    ticks = [(each.row["id"], tick) for each in looks if each.plan for tick in each.plan.ticks]
    deferred: set[int] = set()
    if ticks:
        told = await tx.fetch(FIRE, *columns(ticks))
        deferred = {row["schedule_id"] for row in told if row["verdict"] == DEFERRED}
    moves = [each.move(now, deferred=each.row["id"] in deferred) for each in looks]
    await tx.fetch(MOVE_SCHEDULES, *(list(column) for column in zip(*moves, strict=True)))
    return len(looks), len(looks) < len(rows) or len(rows) == PAGE


Move = tuple[int, datetime | None, datetime, str | None]
"""A schedule's number, its next due time, how far it has come, its problem."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a due schedule does now, or the problem with it."""

    row: Row
    plan: Firings | None
    problem: str | None = None

    def move(self, now: datetime, *, deferred: bool) -> Move:
        """Where the schedule stands after this sweep.

        One of which a start was put off stays where it is and is looked at again soon.
        """
        if self.plan is None:
            return self.row["id"], None, self.row["cursor_at"], self.problem
        if deferred:
            return self.row["id"], now + PATIENCE, self.row["cursor_at"], None
        return self.row["id"], self.plan.next_at, self.plan.cursor_at, None


def planned(rows: Sequence[Row], now: datetime) -> list[Look]:
    """What these schedules do, the first of them whose ticks go into one transaction."""
    looks: list[Look] = []
    ticks = 0
    for row in rows:
        looks.append(look(row, now))
        plan = looks[-1].plan
        ticks += len(plan.ticks) if plan else 0
        if ticks >= MOST_TICKS:
            break
    return looks


def look(row: Row, now: datetime) -> Look:
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
        return Look(row, None, f"{type(error).__name__}: {error}")
    return Look(row, plan)


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
