"""The moment a lock goes to the next in line: a transaction of its own, right after a release."""

from __future__ import annotations

from collections.abc import Sequence

from koken.store.database import Database, Row
from koken.store.statements import Statement

GRANT = Statement("grant")
GRANTABLE = Statement("grantable")
HINT = Statement("hint")


async def grant(db: Database, lock_ids: Sequence[int]) -> set[int]:
    """Hand locks to those in line that fit; returns the queues in which a run became ready."""
    if not lock_ids:
        return set()
    rows = await db.fetch(GRANT, list(lock_ids))
    queues = {row["queue_id"] for row in rows}
    if queues:
        await db.fetch(HINT, list(queues))
    return queues


async def sweep(db: Database) -> set[int]:
    """Grant whatever has somebody in line: finds from rows alone what a release has missed."""
    rows = await db.fetch(GRANTABLE)
    return await grant(db, [row["lock_id"] for row in rows])


async def pass_on(db: Database, row: Row) -> set[int]:
    """What follows the end of runs once it is committed: locks go on, workers are told.

    ``row`` has the locks that came free and the queues in which something became ready. Returns
    those queues and the ones that the locks added.
    """
    queues = set(row["queue_ids"] or ())
    if queues:
        await db.fetch(HINT, list(queues))
    return queues | await grant(db, row["lock_ids"] or [])
