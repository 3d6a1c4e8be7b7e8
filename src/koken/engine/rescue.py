"""The moment a worker is lost, in two looks, and others take over what it carried."""

from __future__ import annotations

from dataclasses import dataclass, field

from koken.engine.parts import ending
from koken.model.timing import Timing
from koken.store.database import Database
from koken.store.statements import Statement

SUSPECT = Statement("suspect")
CONFIRM = Statement("confirm")
TAKE_OVER = Statement("take_over")
CLEAR = Statement("clear")
ORPHAN = Statement("orphan")


@dataclass(slots=True)
class Rescued:
    """What a look found."""

    suspects: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    runs: int = 0


async def rescue(db: Database, timing: Timing) -> Rescued:
    """Suspect the silent, confirm the suspects, take over from the lost."""
    found = Rescued()
    found.suspects = [row["id"] for row in await db.fetch(SUSPECT, timing.lease)]
    rows = await db.fetch(CONFIRM, timing.confirm)
    found.lost = [row["name"] for row in rows]
    while True:
        row = await ending(db, TAKE_OVER)
        found.runs += row["taken"]
        if not row["taken"]:
            break
    await db.fetch(CLEAR)
    return found


async def adopt_orphans(db: Database) -> None:
    """Give runs whose worker has no row a lost one, so that rescue sees them."""
    await db.fetch(ORPHAN)
