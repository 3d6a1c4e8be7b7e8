"""One schedule, by its number."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.errors import NotFound
from koken.model.schedule import Schedule
from koken.store.database import Database
from koken.views.reading import rows

ONE = """
select s.id, j.id as job_id, j.name as job, s.name, s.declared::text as declared, s.timezone,
       s.paused_at, s.paused_by, s.pause_reason, s.next_at, s.problem, s.retired_at,
       coalesce(v.overlap, case when s.catchup = 'all' then 'queue_all' else 'skip_if_running' end)
       as overlap,
       (select count(*) from koken.schedule o
         where o.job_id = s.job_id and o.workspace_id = s.workspace_id and o.retired_at is null)
       as siblings
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.job_version v on v.id = j.version_id
  join koken.workspace w on w.id = s.workspace_id
 where s.id = $1 and w.name = $2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSchedule:
    """When a job runs, by one of its schedules, and how that stands."""

    id: int
    job_id: int
    job: str
    name: str
    schedule: Schedule
    overlap: str
    timezone: str
    next_at: datetime | None
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    problem: str | None
    retired_at: datetime | None
    siblings: int
    """How many schedules the job has."""


async def one(db: Database, schedule_id: int, *, workspace: str) -> OneSchedule:
    """The schedule of that number. Raises ``NotFound``."""
    found = await rows(db, ONE, schedule_id, workspace)
    if not found:
        raise NotFound(f"there is no schedule {schedule_id} here")
    values: dict[str, Any] = dict(found[0])
    return OneSchedule(schedule=Schedule.from_json(json.loads(values.pop("declared"))), **values)
