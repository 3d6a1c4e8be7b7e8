"""What a run has kept, for people to look at: of its checkpoints and its ledger what is short."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from koken.store.database import Database
from koken.views.reading import rows

MOST = 500
LONGEST = 20_000
"""Characters of a value."""
CHECKPOINTS = f"""
select c.key, left(c.value::text, {LONGEST}) as value, length(c.value::text) as size, c.lease, c.at
  from koken.checkpoint c where c.run_id = $1 order by c.at, c.key limit {MOST + 1}
"""
LEDGER = f"""
select l.key, l.no, l.state, left(l.item::text, 1000) as item, left(l.handle::text, 1000) as handle,
       l.submits, l.submitted_at, l.error, l.updated_at
  from koken.ledger l where l.run_id = $1
 order by (l.state = 'done'), l.key, l.no limit {MOST + 1}
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


async def checkpoints(db: Database, run_id: int) -> list[CheckpointRow]:
    """What it has kept, oldest first; one more than ``MOST`` where there are more."""
    return [CheckpointRow(**dict(row)) for row in await rows(db, CHECKPOINTS, run_id)]


async def ledger(db: Database, run_id: int) -> list[LedgerRow]:
    """Its items and operations, those that are not done first; one more than ``MOST`` where there
    are more."""
    return [LedgerRow(**dict(row)) for row in await rows(db, LEDGER, run_id)]
