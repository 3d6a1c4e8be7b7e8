"""The lines that runs have printed and logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.store.database import Database
from koken.views.reading import rows

LOGS = """
select l.id, l.at, l.level, l.stream, l.lease, l.text
  from koken.log_line l
 where l.run_id = $1 and l.id > $2
 order by l.id
 limit $3
"""
TAIL = """
select * from (
  select l.id, l.at, l.level, l.stream, l.lease, l.text
    from koken.log_line l
   where l.run_id = $1
   order by l.id desc
   limit $2) last
 order by id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line."""

    id: int
    at: datetime
    level: str
    stream: str
    lease: int
    """Which lease of the run printed it."""
    text: str

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "id": str(self.id),
            "at": self.at.isoformat(),
            "level": self.level,
            "stream": self.stream,
            "lease": self.lease,
            "text": self.text,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> LogLine:
        """What ``to_json`` gave."""
        same = {name: plain[name] for name in ("level", "stream", "lease", "text")}
        return cls(id=int(plain["id"]), at=datetime.fromisoformat(plain["at"]), **same)


async def lines(db: Database, run_id: int, *, after: int = 0, limit: int = 1000) -> list[LogLine]:
    """Lines after the one with id ``after``, oldest first."""
    return [LogLine(**dict(row)) for row in await rows(db, LOGS, run_id, after, limit)]


async def tail(db: Database, run_id: int, *, limit: int) -> list[LogLine]:
    """The last lines, oldest first."""
    return [LogLine(**dict(row)) for row in await rows(db, TAIL, run_id, limit)]
