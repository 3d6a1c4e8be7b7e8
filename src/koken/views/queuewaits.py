"""How long runs wait in queues: since when the next of each is ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from koken.store.database import Database
from koken.views.reading import rows

# A rank is the time at which a run became ready, 60 s later for each step of priority.
WAITS = """
select q.name, r.id as run_id, j.name as job, r.rank - r.priority * interval '60 s' as since
  from koken.queue q
 cross join lateral (
   select x.id, x.job_id, x.rank, x.priority from koken.run x
    where x.queue_id = q.id and x.state = 'ready'
      and x.workspace_id = (select w.id from koken.workspace w where w.name = $1)
    order by x.rank, x.id limit 1) r
  join koken.job j on j.id = r.job_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextInQueue:
    """The run of a workspace that a queue hands out next."""

    name: str
    run_id: int
    job: str
    since: datetime
    """From when it waits for a slot."""


async def waits(db: Database, *, workspace: str) -> Mapping[str, NextInQueue]:
    """By queue, where a run of the workspace is ready."""
    found = [NextInQueue(**dict(row)) for row in await rows(db, WAITS, workspace)]
    return {each.name: each for each in found}
