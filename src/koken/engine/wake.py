"""The moment time has passed: waiting runs become ready, overdue ones end."""

from __future__ import annotations

from collections.abc import Sequence

from koken.engine.grant import HINT
from koken.engine.parts import ending, stop_children
from koken.store.database import Database
from koken.store.statements import Statement

WAKE = Statement("wake")
EXPIRE = Statement("expire")
BATCH = 500


async def wake(db: Database, run_ids: Sequence[int] | None = None) -> set[int]:
    """Make ready what is due (of ``run_ids``, where given); returns the queues that got some."""
    queues: set[int] = set()
    while True:
        rows = await db.fetch(WAKE, None if run_ids is None else list(run_ids))
        queues |= {row["queue_id"] for row in rows}
        if sum(row["woken"] for row in rows) < BATCH:
            break
    if queues:
        await db.fetch(HINT, list(queues))
    return queues


async def expire(db: Database) -> int:
    """End what was not started in time, or takes too long as a whole, and that nobody carries."""
    expired = 0
    while True:
        row = await ending(db, EXPIRE)
        expired += int(row["expired"])
        if row["to_stop"]:
            await stop_children(db, row["to_stop"], "the run took longer than it may (run_timeout)")
        if not row["expired"]:
            return expired
