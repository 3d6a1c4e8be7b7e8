"""The moment time zone rules change: next times that were computed with the old ones are again."""

from __future__ import annotations

import json
from datetime import datetime

from koken.model.schedule import Schedule
from koken.model.zones import tzdata_version
from koken.store.database import Database, Transaction
from koken.store.statements import Statement

STALE_SCHEDULES = Statement("stale_schedules")
RETIME = Statement("retime")


async def retime(db: Database) -> int:
    """Compute next times anew where they came from other time zone rules; returns how many."""
    version = tzdata_version()

    async def work(tx: Transaction) -> int:
        rows = await tx.fetch(STALE_SCHEDULES, version)
        nexts: list[datetime | None] = []
        problems: list[str | None] = []
        for row in rows:
            try:
                schedule = Schedule.from_json(json.loads(row["declared"]))
                nexts.append(schedule.next_after(row["cursor_at"]))
                problems.append(None)
            except Exception as error:  # one bad schedule must not stop the others
                nexts.append(None)
                problems.append(f"{type(error).__name__}: {error}")
        if rows:
            await tx.fetch(RETIME, [row["id"] for row in rows], nexts, problems, version)
        return len(rows)

    return await db.run(work)
