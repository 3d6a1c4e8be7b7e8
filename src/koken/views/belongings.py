"""What belongs to a run, page by page: children, what its body has recorded, what it was sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model import codec
from koken.model.plain import stamp
from koken.model.run import Run
from koken.store.database import Database, Row
from koken.views.reading import rows
from koken.views.runs import COLUMNS, TABLES, run_of

CHILDREN = f"""
select {COLUMNS} from {TABLES}
 where r.parent_id = $1 and r.id > $2 order by r.id limit $3
"""
MOST = 500
LONGEST, LONGEST_ITEM = 20_000, 1_000
"""Characters of a value, and of an item, that a page for people shows."""
HANDLE = f"left(l.handle::text, {LONGEST_ITEM})"
CHECKPOINT = """
select c.key, {} as value, c.lease, c.at, coalesce(q.answered_by, s.by) as by,
       coalesce(q.answered_at, s.at) as came_at{}
  from koken.checkpoint c
  left join koken.question q on q.run_id = c.run_id and q.key = c.key
  left join lateral (
    select s.by, s.at from koken.signal s
     where s.run_id = c.run_id and s.taken_by = c.key order by s.id limit 1) s on true
 where c.run_id = $1"""
CHECKPOINTS = f"""
{CHECKPOINT.format("c.value::text", "")} and c.key > $2 order by c.key limit $3
"""
FIRST_CHECKPOINTS = f"""
{CHECKPOINT.format(f"left(c.value::text, {LONGEST})", ", length(c.value::text) as size")}
 order by c.at, c.key limit {MOST + 1}
"""
ITEM = """
select l.key, l.no, l.state, {} as item, {} as handle, l.submits, l.submitted_at, l.error,
       l.updated_at
  from koken.ledger l where l.run_id = $1"""
LEDGER = f"""{ITEM.format("l.item::text", "l.handle::text")}
   and (l.key, l.no) > ($2, $3::int) order by l.key, l.no limit $4
"""
FIRST_LEDGER = f"""{ITEM.format(f"left(l.item::text, {LONGEST_ITEM})", HANDLE)}
 order by (l.state = 'done'), l.key, l.no limit {MOST + 1}
"""
HAS = """
select exists (select from koken.checkpoint c where c.run_id = $1) as checkpoints,
       exists (select from koken.ledger l where l.run_id = $1) as ledger
"""
SIGNALS = """
select s.id, s.name, s.value::text as value, s.by, s.at, s.taken_by, s.refused from koken.signal s
 where s.run_id = $1 and s.id > $2 order by s.id limit $3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRow:
    """A value that a run has kept for its next attempt."""

    key: str
    value: str
    """As JSON text, its beginning where it is long."""
    size: int
    """Characters of the whole."""
    lease: int
    at: datetime
    """When it was kept; of a wait, when that began."""
    by: str | None
    """Of a wait: who has answered, or sent the signal."""
    came_at: datetime | None
    """When they did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """An item of a map, or an operation elsewhere."""

    key: str
    no: int
    state: str
    item: str | None
    handle: str | None
    submits: int
    submitted_at: datetime | None
    error: str | None
    updated_at: datetime


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


async def has(db: Database, run_id: int) -> tuple[bool, bool]:
    """Whether its body has recorded anything, and whether it has work elsewhere."""
    found = (await rows(db, HAS, run_id))[0]
    return found["checkpoints"], found["ledger"]


async def first_checkpoints(db: Database, run_id: int) -> list[CheckpointRow]:
    """What a body has recorded, oldest first, for people to look at; one more than ``MOST`` where
    there are more."""
    return [CheckpointRow(**dict(row)) for row in await rows(db, FIRST_CHECKPOINTS, run_id)]


async def first_ledger(db: Database, run_id: int) -> list[LedgerRow]:
    """Work elsewhere, for people to look at, what is not done first; one more than ``MOST`` where
    there are more."""
    return [LedgerRow(**dict(row)) for row in await rows(db, FIRST_LEDGER, run_id)]


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
