"""What people tell queues to do: how much goes at once, and what does not go for now."""

from __future__ import annotations

from types import EllipsisType

from koken.errors import NotFound
from koken.store.database import Database
from koken.store.statements import Statement

QUEUE_IDS = Statement("queue_ids")
SET_QUEUE = Statement("set_queue")
PAUSE_QUEUE = Statement("pause_queue")


async def set_limits(
    db: Database,
    name: str,
    *,
    limit: int | EllipsisType | None = ...,
    rate: float | EllipsisType | None = ...,
    burst: int = 1,
    by: str,
    reason: str | None,
) -> None:
    """Set how many runs of a queue go at once, and how many start a second; None for no limit."""
    await db.fetch(QUEUE_IDS, [name])  # makes it, where nobody has used it yet
    await db.fetch(
        SET_QUEUE,
        name,
        limit is not ...,
        None if limit is ... else limit,
        rate is not ...,
        None if rate is ... else rate,
        burst,
        by,
        reason,
    )


async def pause(db: Database, name: str, *, paused: bool, by: str, reason: str | None) -> None:
    """Stop or resume handing out runs of a queue; what runs goes on. Raises ``NotFound``."""
    if not await db.fetch(PAUSE_QUEUE, name, paused, by, reason):
        raise NotFound(f"there is no queue {name!r}; `koken queues` lists them")
