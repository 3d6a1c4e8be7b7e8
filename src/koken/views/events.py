"""What people did to a run, as it was recorded: who, what and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.run import stamp
from koken.store.database import Database
from koken.views.reading import rows

OF_RUN = """
select * from (
  select e.id, e.at, e.verb, e.by, e.reason, e.detail::text as detail
    from koken.event e where e.run_id = $1 order by e.id desc limit $2) x
 order by id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One thing that somebody did."""

    at: datetime
    verb: str
    by: str
    reason: str | None
    detail: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "at": stamp(self.at),
            "verb": self.verb,
            "by": self.by,
            "reason": self.reason,
            "detail": dict(self.detail),
        }


async def of_run(db: Database, run_id: int, *, limit: int = 100) -> list[EventRow]:
    """The last things done to a run, oldest first."""
    return [
        EventRow(
            at=row["at"],
            verb=row["verb"],
            by=row["by"],
            reason=row["reason"],
            detail=json.loads(row["detail"]),
        )
        for row in await rows(db, OF_RUN, run_id, limit)
    ]
