"""What belongs to a run, page by page: children, what its body has recorded, what it was sent."""

from __future__ import annotations

from typing import Any

from koken.model import codec
from koken.model.run import Run, stamp
from koken.store.database import Database, Row
from koken.views.reading import rows
from koken.views.runs import COLUMNS, TABLES, run_of

CHILDREN = f"""
select {COLUMNS} from {TABLES}
 where r.parent_id = $1 and r.id > $2 order by r.id limit $3
"""
CHECKPOINTS = """
select c.key, c.value::text as value, c.lease, c.at from koken.checkpoint c
 where c.run_id = $1 and c.key > $2 order by c.key limit $3
"""
LEDGER = """
select l.key, l.no, l.state, l.item::text as item, l.handle::text as handle, l.submits,
       l.submitted_at, l.error, l.updated_at
  from koken.ledger l
 where l.run_id = $1 and (l.key, l.no) > ($2, $3::int) order by l.key, l.no limit $4
"""
SIGNALS = """
select s.id, s.name, s.value::text as value, s.by, s.at, s.taken_by, s.refused from koken.signal s
 where s.run_id = $1 and s.id > $2 order by s.id limit $3
"""


async def children(db: Database, run_id: int, *, after: int = 0, limit: int) -> list[Run[Any]]:
    """The runs that a run is made of, or has started, oldest first."""
    return [run_of(row) for row in await rows(db, CHILDREN, run_id, after, limit)]


async def checkpoints(
    db: Database, run_id: int, *, after: str = "", limit: int
) -> list[dict[str, Any]]:
    """What a body has recorded, by key."""
    return [plain(row, "value") for row in await rows(db, CHECKPOINTS, run_id, after, limit)]


async def ledger(
    db: Database, run_id: int, *, after: tuple[str, int] = ("", -1), limit: int
) -> list[dict[str, Any]]:
    """Work elsewhere, a line for each item, by key and number."""
    found = await rows(db, LEDGER, run_id, *after, limit)
    return [plain(row, "item", "handle") for row in found]


async def signals(db: Database, run_id: int, *, after: int = 0, limit: int) -> list[dict[str, Any]]:
    """What was sent to a run, taken or not, oldest first."""
    found = await rows(db, SIGNALS, run_id, after, limit)
    return [{**plain(row, "value"), "id": str(row["id"])} for row in found]


def plain(row: Row, *values: str) -> dict[str, Any]:
    """A row as plain values, ``values`` being its JSON texts."""
    found = {
        name: stamp(value) if name == "at" or name.endswith("_at") else value
        for name, value in row.items()
    }
    for name in values:
        text = found[name]
        found[name] = None if text is None else codec.decode_whatever(text)
    return found
