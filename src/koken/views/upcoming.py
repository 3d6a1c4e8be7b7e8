"""Due times to come, by the schedules of a job as they are stored."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.errors import DeclarationError
from koken.model.plain import stamp
from koken.model.schedule import Schedule
from koken.store.database import Database
from koken.views.reading import rows

GOING = """
select s.id, s.declared::text as declared
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.workspace w on w.id = s.workspace_id
 where w.name = $1 and ($2::text is null or j.name = $2) and ($3::int is null or s.id = $3)
   and s.retired_at is null and s.paused_at is null
 order by s.id
"""


@dataclass(frozen=True, slots=True, order=True)
class Due:
    """A due time to come, and the number of its schedule."""

    at: datetime
    schedule: int

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"at": stamp(self.at), "schedule": str(self.schedule)}


async def upcoming(
    db: Database,
    job: str | None,
    *,
    workspace: str,
    after: datetime,
    number: int,
    schedule: int | None = None,
) -> list[Due]:
    """The next due times of a job's schedules, or of one, that are not paused; the first first."""
    found = await rows(db, GOING, workspace, job, schedule)
    coming = [
        dues(row["id"], Schedule.from_json(json.loads(row["declared"])), after) for row in found
    ]
    merged = heapq.merge(*coming)
    return [due for due, _ in zip(merged, range(number), strict=False)]


def dues(number: int, schedule: Schedule, after: datetime) -> Iterator[Due]:
    """The due times of one schedule; none from where they cannot be computed."""
    while True:
        try:
            following = schedule.next_after(after)
        except DeclarationError:
            return
        if following is None:
            return
        yield Due(following, number)
        after = following
