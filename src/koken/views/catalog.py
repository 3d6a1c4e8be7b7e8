"""Jobs, schedules and their ticks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from koken.errors import NotFound
from koken.model.plain import stamp, text_of
from koken.model.schedule import Schedule
from koken.store.database import Database
from koken.views.reading import rows

JOBS = """
with page as materialized (
  select j.id, j.name, j.retired_at, w.id as workspace_id, v.number, v.spec, v.queue_id
    from koken.job j
    join koken.job_version v on v.id = j.version_id
    join koken.workspace w on w.name = $1
   where j.workspace_id in (2, w.id) and (j.retired_at is null or $2)
     and not exists (select from unnest($3::text[]) word where position(
           word in lower(j.name || ' ' || split_part(v.spec ->> 'description', E'\n', 1))) = 0)
     and ($4::text is null or v.spec -> 'tags' ? $4)
     and ($5::text is null or v.spec ->> 'owner' = $5)
     and ($6::text is null or (j.name, j.id) > ($6, $7::int))
   order by j.name, j.id limit $8::int)
select j.id, j.name, j.number as version, j.spec::text as spec, q.name as queue, j.retired_at,
       (select min(s.next_at) from koken.schedule s
         where s.job_id = j.id and s.workspace_id = j.workspace_id
           and s.retired_at is null and s.paused_at is null) as next_at,
       exists (select from koken.schedule s
                where s.job_id = j.id and s.workspace_id = j.workspace_id
                  and s.retired_at is null and s.paused_at is not null) as paused,
       l.id as last_id, l.state as last_state, l.finished_at as last_finished_at,
       l.created_at as last_created_at
  from page j
  join koken.queue q on q.id = j.queue_id
  left join lateral (
    select r.id, r.state, r.finished_at, r.created_at from koken.run r
     where r.workspace_id = j.workspace_id and r.job_id = j.id and r.parent_id is null
       -- true anyway; makes a job's own index look better than walking down all runs
       and r.job_id between j.id and j.id
     order by r.id desc limit 1) l on true
 order by j.name, j.id
"""
SCHEDULES = """
with page as materialized (
  select s.*, j.name as job, v.overlap
    from koken.schedule s
    join koken.job j on j.id = s.job_id
    join koken.job_version v on v.id = j.version_id
    join koken.workspace w on w.id = s.workspace_id
   where w.name = $1 and s.retired_at is null and ($2::text is null or j.name = $2)
     and ($3::int is null or s.id = $3)
     and ($4::text is null or (j.name, s.name, s.id) > ($4, $5, $6::int))
   order by j.name, s.name, s.id limit $7::int)
select s.id, s.job, s.name, s.declared::text as declared, s.expression, s.timezone, s.catchup,
       s.paused_at, s.paused_by, s.pause_reason, s.next_at, s.problem, t.due_at as last_due_at,
       t.verdict as last_verdict, t.reason as last_reason, s.overlap
  from page s
  left join lateral (
    select due_at, verdict, reason from koken.tick
     where schedule_id = s.id order by due_at desc limit 1) t on true
 order by s.job, s.name, s.id
"""
TICKS = """
select t.due_at, t.until_at, t.count, t.verdict, t.reason, t.run_id, t.blocker_id, t.fired_at,
       s.id as schedule_id, s.name as schedule, s.expression, s.timezone, r.state as run_state
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.workspace w on w.id = s.workspace_id
  join lateral (
    select * from koken.tick where schedule_id = s.id and ($3::timestamptz is null or due_at < $3)
     order by due_at desc limit $4) t on true
  left join koken.run r on r.id = t.run_id
 where w.name = $1 and j.name = $2 and ($5::int is null or s.id = $5)
 order by t.due_at desc
 fetch first $4 rows with ties
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job with its last run and its next time."""

    id: int
    name: str
    version: int
    description: str
    owner: str
    tags: tuple[str, ...]
    queue: str
    schedules: tuple[str, ...]
    next_at: datetime | None
    paused: bool
    """Whether one of its schedules is paused."""
    last_id: int | None
    last_state: str | None
    last_at: datetime | None
    retired_at: datetime | None
    parameters: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "owner": self.owner,
            "tags": list(self.tags),
            "queue": self.queue,
            "expressions": list(self.schedules),
            "next_at": stamp(self.next_at),
            "paused": self.paused,
            "last_run": None
            if self.last_id is None
            else {"id": str(self.last_id), "state": self.last_state, "at": stamp(self.last_at)},
            "retired_at": stamp(self.retired_at),
            "arguments": self.parameters,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRow:
    """When a job runs, and what came of the last time."""

    id: int
    job: str
    name: str
    expression: str
    timezone: str
    words: str
    overlap: str
    catchup: str
    next_at: datetime | None
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    problem: str | None
    last_due_at: datetime | None
    last_verdict: str | None
    last_reason: str | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain["id"] = str(self.id)
        for name in ("next_at", "paused_at", "last_due_at"):
            plain[name] = stamp(plain[name])
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class TickRow:
    """A due time and its verdict, or ``count`` due times up to ``until_at``.

    They are counted up to 10,000; 10,001 stands for more.
    """

    due_at: datetime
    until_at: datetime
    count: int
    verdict: str
    reason: str | None
    run_id: int | None
    blocker_id: int | None
    fired_at: datetime
    schedule_id: int
    schedule: str
    """Its name."""
    expression: str
    timezone: str
    run_state: str | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "due_at": stamp(self.due_at),
            "last_at": stamp(self.until_at),
            "count": self.count,
            "verdict": self.verdict,
            "reason": self.reason,
            "run": text_of(self.run_id),
            "run_state": self.run_state,
            "blocker": text_of(self.blocker_id),
            "fired_at": stamp(self.fired_at),
            "schedule": str(self.schedule_id),
            "name": self.schedule,
            "expression": self.expression,
            "timezone": self.timezone,
        }


async def jobs(
    db: Database,
    *,
    workspace: str,
    retired: bool = False,
    text: str = "",
    tag: str = "",
    owner: str = "",
    after: tuple[str | None, int] = (None, 0),
    limit: int | None = None,
) -> list[JobRow]:
    """Jobs by name: all of them, or a page that begins ``after`` a name and a number.

    The words of ``text`` are looked for in the name and in the first line of what is said of it.
    """
    words = text.lower().split()
    asked = (words, tag or None, owner or None, *after, limit)
    found = []
    for row in await rows(db, JOBS, workspace, retired, *asked):
        spec = json.loads(row["spec"])
        found.append(
            JobRow(
                id=row["id"],
                name=row["name"],
                version=row["version"],
                description=spec["description"],
                owner=spec["owner"],
                tags=tuple(spec["tags"]),
                queue=row["queue"],
                schedules=tuple(each["expression"] for each in spec["schedules"]),
                next_at=row["next_at"],
                paused=row["paused"],
                last_id=row["last_id"],
                last_state=row["last_state"],
                last_at=row["last_finished_at"] or row["last_created_at"],
                retired_at=row["retired_at"],
                parameters=spec["parameters"],
            )
        )
    return found


async def schedules(
    db: Database,
    *,
    workspace: str,
    job: str | None = None,
    number: int | None = None,
    after: tuple[str | None, str, int] = (None, "", 0),
    limit: int | None = None,
) -> list[ScheduleRow]:
    """All schedules by job; those of one job, or the one of that ``number``.

    A page of them begins ``after`` a job, a name and a number.
    """
    found = []
    for row in await rows(db, SCHEDULES, workspace, job, number, *after, limit):
        values = dict(row)
        told = in_words(values.pop("declared"))
        values["overlap"] = values["overlap"] or "skip_if_running"
        found.append(ScheduleRow(words=told, **values))
    return found


@lru_cache(maxsize=4096)
def in_words(declared: str) -> str:
    """A schedule as people say it, from its stored text; the same text is read once."""
    return Schedule.from_json(json.loads(declared)).in_words()


async def ticks(
    db: Database,
    job: str,
    *,
    workspace: str,
    limit: int = 50,
    before: datetime | None = None,
    schedule: int | None = None,
) -> list[TickRow]:
    """The latest due times of a job's schedules, or of one, all before the instant ``before``.

    Those that fall due at the same time as the last stand in one page with it, even if it is longer
    than ``limit``. Raises ``NotFound`` for an unknown job.
    """
    if not await rows(db, "select from koken.job where name = $1", job):
        raise NotFound(f"there is no job {job!r}; `koken jobs` lists them")
    found = await rows(db, TICKS, workspace, job, before, limit, schedule)
    return [TickRow(**dict(row)) for row in found]
