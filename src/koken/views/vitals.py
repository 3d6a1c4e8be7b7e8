"""Figures about all workspaces, for those who watch it by numbers; all found by indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from koken.store.database import Database
from koken.views.lateness import LATE
from koken.views.reading import reading

MOST = 10_000
"""Counts go so far; one more stands for more."""
READY = """
select q.name, c.n, f.seconds
  from koken.queue q
 cross join lateral (select count(*) as n from (
   select from koken.run r where r.queue_id = q.id and r.state = 'ready' limit $1) x) c
  left join lateral (
   select max(extract(epoch from koken.now() - o.ready_at))::float8 as seconds
     from koken.workspace w cross join lateral (
       select r.rank - r.priority * interval '60 s' as ready_at from koken.run r
        where r.queue_id = q.id and r.workspace_id = w.id and r.state = 'ready'
        order by r.queue_id, r.workspace_id, r.rank, r.id limit 1) o) f on c.n > 0
"""
RUNNING = """
select q.name, count(*) as n
  from (select queue_id from koken.run
         where state = 'running' and worker_id is not null limit $1) r
  join koken.queue q on q.id = r.queue_id
 group by q.name
"""
COUNTS = """
select (select count(*) from (select from koken.run
          where state = 'waiting' and wake_at is not null limit $1) x) as waiting,
       (select count(*) from (select from koken.hold
          where granted_at is null limit $1) x) as in_line,
       (select count(*) from (select from koken.run
          where state = 'failed' and acknowledged_at is null
            and parent_id is null limit $1) x) as failed,
       (select count(*) from koken.schedule
         where retired_at is null and paused_at is null
           and (problem is not null or next_at < koken.now() - make_interval(secs => $2::float8)))
         as late
"""
WORKERS = """
select case when lost_at is not null then 'lost' when suspect_at is not null then 'suspect'
            when draining_at is not null then 'draining' else 'live' end as standing,
       count(*) as n, sum(slots) filter (where lost_at is null) as slots,
       sum(busy) filter (where lost_at is null) as busy
  from koken.worker
 where cleared_at is null and stopped_at is null
 group by 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """Figures; those of runs go up to 10,000, and 10,001 stands for more."""

    ready: Mapping[str, int]
    """By queue."""
    running: Mapping[str, int]
    """By queue."""
    oldest: Mapping[str, float]
    """By queue, for how many seconds its oldest ready run has been so."""
    waiting: int
    """Runs that wait for a time, with or without something else."""
    in_line: int
    """Places in line for a lock."""
    failed: int
    """Failed, and neither repaired nor acknowledged."""
    workers: Mapping[str, int]
    """By standing."""
    slots: int
    busy: int
    late: int
    """Schedules that should have fired, or cannot."""


async def vitals(db: Database) -> Vitals:
    """The figures as they are now. Several small statements: none is worth a compiled plan."""
    async with reading(db) as session:
        ready = await session.fetch_text(READY, MOST + 1)
        running = await session.fetch_text(RUNNING, MOST + 1)
        (counts,) = await session.fetch_text(COUNTS, MOST + 1, LATE)
        workers = await session.fetch_text(WORKERS)
    return Vitals(
        ready={row["name"]: row["n"] for row in ready},
        running={row["name"]: row["n"] for row in running},
        oldest={row["name"]: row["seconds"] for row in ready if row["seconds"] is not None},
        workers={row["standing"]: row["n"] for row in workers},
        slots=sum(row["slots"] or 0 for row in workers),
        busy=sum(row["busy"] or 0 for row in workers),
        **dict(counts),
    )
