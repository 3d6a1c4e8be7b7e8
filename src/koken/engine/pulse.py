"""The moment an idle worker asks what there is to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from koken.model.timing import Timing
from koken.store.database import Database
from koken.store.statements import Statement

PULSE = Statement("pulse")
TAKE_CHORE = Statement("take_chore")
WORKERS = "workers"


@dataclass(frozen=True, slots=True)
class Pulse:
    """``due``: chores that have something to do now. ``next_in``: seconds until the next one has.
    ``workers``: how many live workers there are."""

    due: frozenset[str]
    next_in: float
    workers: int


async def pulse(db: Database, queue_ids: Sequence[int], timing: Timing) -> Pulse:
    """Which chores have something to do."""
    rows = await db.fetch(PULSE, list(queue_ids), timing.lease, timing.confirm)
    found = {row["chore"]: row["due_in"] for row in rows}
    workers = int(found.pop(WORKERS, 1))
    due = frozenset(chore for chore, due_in in found.items() if due_in <= 0)
    later = [due_in for due_in in found.values() if due_in > 0]
    return Pulse(due, min(later, default=60.0), workers)


async def take_chore(db: Database, name: str, worker_id: int) -> int | None:
    """The right to do a periodic chore this time, as its cursor; None when somebody else has it."""
    rows = await db.fetch(TAKE_CHORE, name, worker_id)
    return rows[0]["cursor"] if rows else None
