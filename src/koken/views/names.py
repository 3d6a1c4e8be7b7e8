"""What numbers in the database are called."""

from __future__ import annotations

from collections.abc import Collection

from koken.store.database import Database
from koken.store.statements import Statement

JOB_NAMES = Statement("job_names")
WORKSPACE_NAMES = Statement("workspace_names")
SCHEDULE_OF = Statement("schedule_of")


async def jobs(db: Database, ids: Collection[int]) -> dict[int, str]:
    """The names of these jobs."""
    return {row["id"]: row["name"] for row in await db.fetch(JOB_NAMES, list(ids))}


async def workspaces(db: Database) -> dict[int, str]:
    """The names of all workspaces."""
    return {row["id"]: row["name"] for row in await db.fetch(WORKSPACE_NAMES)}


async def expressions(db: Database, ids: Collection[int]) -> dict[int, str]:
    """The expressions of these schedules, as they are now."""
    return {row["id"]: row["expression"] for row in await db.fetch(SCHEDULE_OF, list(ids))}
