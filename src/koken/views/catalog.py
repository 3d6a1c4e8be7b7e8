"""Jobs and schedules."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from koken.model.plain import stamp
from koken.model.schedule import Schedule
from koken.store.database import Database
from koken.views.joblines import judge, parse
from koken.views.query import escaped
from koken.views.reading import reading, rows

JOBS = """
with page as materialized (
  select j.id, j.name, j.retired_at, w.id as workspace_id, v.number, v.spec, q.name as queue
    from koken.job j
    join koken.job_version v on v.id = j.version_id
    join koken.queue q on q.id = v.queue_id
    join koken.workspace w on w.name = ${workspace}
   where j.workspace_id in (2, w.id) and (j.retired_at is null or ${retired}) and {where}
     and (${name}::text is null or (j.name, j.id) > (${name}, ${number}::int))
   order by j.name, j.id limit ${limit}::int)
select j.id, j.name, j.number as version, j.spec::text as spec, j.queue, j.retired_at,
       (select min(s.next_at) from koken.schedule s
         where s.job_id = j.id and s.workspace_id = j.workspace_id
           and s.retired_at is null and s.paused_at is null) as next_at,
       exists (select from koken.schedule s
                where s.job_id = j.id and s.workspace_id = j.workspace_id
                  and s.retired_at is null and s.paused_at is not null) as paused,
       l.id as last_id, l.state as last_state, l.finished_at as last_finished_at,
       l.created_at as last_created_at
  from page j
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
     and j.name ilike $4
     and ($5::text is null or (j.name, s.name, s.id) > ($5, $6, $7::int))
   order by j.name, s.name, s.id limit $8::int)
select s.id, s.job, s.name, s.declared::text as declared, s.expression, s.timezone, s.catchup,
       s.paused_at, s.paused_by, s.pause_reason, s.next_at, s.problem, t.due_at as last_due_at,
       t.verdict as last_verdict, t.reason as last_reason, s.overlap
  from page s
  left join lateral (
    select due_at, verdict, reason from koken.tick
     where schedule_id = s.id order by due_at desc limit 1) t on true
 order by s.job, s.name, s.id
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


async def jobs(
    db: Database,
    *,
    workspace: str,
    retired: bool = False,
    query: str = "",
    after: tuple[str | None, int] = (None, 0),
    limit: int | None = None,
) -> list[JobRow]:
    """Jobs by name: all of them, or a page that begins ``after`` a name and a number.

    ``query`` is that of ``joblines``. Raises ``InvalidArguments`` for a bad one.
    """
    wanted = parse(query)
    async with reading(db) as session:
        if wanted.health:
            judged = await judge(session, wanted, workspace, owner="")
            ids = [row["id"] for row in judged if row["health"] in wanted.health]
            wanted.jobs.add("j.id = any({}::int[])", ids)
        values = wanted.jobs.parameters
        names = ("workspace", "retired", "name", "number", "limit")
        places = {name: len(values) + at for at, name in enumerate(names, 1)}
        text = JOBS.format(where=wanted.jobs.text, **places)
        listed = await session.fetch_text(text, *values, workspace, retired, *after, limit)
    found = []
    for row in listed:
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
    part: str = "",
    after: tuple[str | None, str, int] = (None, "", 0),
    limit: int | None = None,
) -> list[ScheduleRow]:
    """All schedules by job; those of one job, or the one of that ``number``.

    ``part``: only those whose job is called like that, wholly or in part. A page of them begins
    ``after`` a job, a name and a number.
    """
    found = []
    like = f"%{escaped(part)}%"
    for row in await rows(db, SCHEDULES, workspace, job, number, like, *after, limit):
        values = dict(row)
        told = in_words(values.pop("declared"))
        values["overlap"] = values["overlap"] or "skip_if_running"
        found.append(ScheduleRow(words=told, **values))
    return found


@lru_cache(maxsize=4096)
def in_words(declared: str) -> str:
    """A schedule as people say it, from its stored text; the same text is read once."""
    return Schedule.from_json(json.loads(declared)).in_words()
