"""What needs a hand: failures that nobody has acknowledged, questions, what is late, what is lost.

Each statement finds its rows by an index made for it and stops after a few: none counts all runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from koken.store.database import Row, Transaction
from koken.views.lateness import LATE

MOST = 20
"""Lines of one kind."""
COUNTED = 1001
"""As far as things of one kind are counted; so many stand for more."""
T = TypeVar("T")
SLOW = 1.5
"""A run is late that takes so many times what all but a few of its job's runs took."""
LONG = 3600.0
"""Seconds from which on a lock, and a key of a run, is held for long."""
# The open failure of each job that ended last; then, of the last of these, what there is to tell.
FAILED = """
with here as materialized (select w.id from koken.workspace w where w.name = $1),
latest as materialized (
  select l.id, l.finished_at, j.id as job_id
    from here, koken.job j cross join lateral (
      select r.id, r.finished_at from koken.run r
       where r.workspace_id = (select id from here) and r.job_id = j.id
         and r.state = 'failed' and r.acknowledged_at is null and r.parent_id is null
       order by r.workspace_id desc, r.job_id desc, r.finished_at desc, r.id desc limit 1) l
   where j.workspace_id in (2, here.id)),
told as (select *, count(*) over () as jobs from latest order by finished_at desc, id desc limit $2)
select t.id as run_id, j.name as job, r.error ->> 'type' as error_type,
       left(r.error ->> 'message', 300) as error,
       r.error -> 'open_undos' is not null as undo_failed,
       coalesce(s.attempt, r.attempt) as attempt, s.step, r.finished_at as since, t.jobs,
       left(s.error ->> 'message', 300) as step_error, s.error ->> 'type' as step_error_type,
       n.n as count
  from told t
  join koken.run r on r.id = t.id
  join koken.job j on j.id = t.job_id
  left join lateral (
    select c.step, c.attempt, c.error from (
      select o.step, o.attempt, o.error, o.state, o.finished_at, o.undoes_id from koken.run o
       where o.parent_id = t.id order by o.step_no limit 1000) c
     where r.made is not null and c.state = 'failed' and c.undoes_id is null
     order by c.finished_at limit 1) s on true
 cross join lateral (
   select count(*) as n from (
     select from koken.run o
      where o.workspace_id = r.workspace_id and o.job_id = r.job_id
        and o.state = 'failed' and o.acknowledged_at is null and o.parent_id is null
      limit 1001) x) n
 order by t.finished_at desc, t.id desc
"""
UNDOING = """
select r.id as run_id, j.name as job, c.step, c.attempt, left(c.error ->> 'message', 300) as error,
       c.error ->> 'type' as error_type, r.created_at as since
  from koken.run r
  join koken.job j on j.id = r.job_id
  join koken.workspace w on w.id = r.workspace_id
  join lateral (
    select o.step, o.attempt, o.error from koken.run o
     where o.parent_id = r.id and o.undoes_id is not null and o.error is not null
     order by o.step_no limit 1) c on true
 where (r.cancel_requested_at is not null or r.settle is not null) and r.finished_at is null
   and r.settle is not null and w.name = $1
 order by r.id desc
 limit $2
"""
LATE_SCHEDULES = """
select j.name as job, s.expression, s.next_at as since, s.problem
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.workspace w on w.id = s.workspace_id
 where w.name = $1 and s.paused_at is null and s.retired_at is null
   and (s.next_at < koken.now() - make_interval(secs => $2::float8) or s.problem is not null)
 order by s.next_at
 limit $3
"""
# Roots of what runs now; steps that run stand for their workflow.
SLOW_RUNS = """
with here as materialized (select w.id from koken.workspace w where w.name = $1),
roots as materialized (
  select r.id, r.job_id, r.deadline_at,
         coalesce(case when r.made is null then r.claimed_at end,
                  r.started_at + coalesce(r.idle, interval '0'), r.created_at) as since
    from (select distinct coalesce(x.root_id, x.id) as id from (
            select o.id, o.root_id from koken.run o
             where o.state = 'running' and o.workspace_id = (select id from here) limit 1000) x) d
    join koken.run r on r.id = d.id
   where r.finished_at is null),
expected as materialized (
  select j.job_id, count(*) as n,
         percentile_disc(0.95) within group (order by l.seconds) as p95
    from (select distinct job_id from roots limit 200) j cross join lateral (
      select extract(epoch from x.finished_at - x.began_at)::float8 as seconds from (
        select r.state, r.finished_at,
               case when r.made is null then coalesce(r.claimed_at, r.started_at)
                    else r.started_at + coalesce(r.idle, interval '0') end as began_at
          from koken.run r
         where r.workspace_id = (select id from here) and r.job_id = j.job_id
           and r.parent_id is null and r.job_id between j.job_id and j.job_id
         order by r.id desc limit 60) x
       where x.state = 'succeeded' and x.began_at is not null) l
   group by j.job_id)
select r.id as run_id, j.name as job, r.since, r.deadline_at as until, e.p95 as expected
  from roots r
  join koken.job j on j.id = r.job_id
  left join expected e on e.job_id = r.job_id and e.n >= 5
 where extract(epoch from koken.now() - r.since) > $2 * e.p95
    or koken.now() > r.deadline_at - (r.deadline_at - r.since) * 0.2
 order by r.since
 limit $3
"""
LOST = """
select r.id as run_id, coalesce(r.root_id, r.id) as root_id, j.name as job, r.step,
       k.name as worker, coalesce(k.lost_at, k.suspect_at, r.claimed_at) as since
  from (select o.* from koken.run o
         where o.state = 'running'
           and o.workspace_id = (select w.id from koken.workspace w where w.name = $1)
         limit 10000) r
  join koken.job j on j.id = r.job_id
  left join koken.worker k on k.id = r.worker_id
 where k.id is null or k.lost_at is not null or k.cleared_at is not null
    or k.suspect_at is not null
 order by r.id
 limit $2
"""


@dataclass(frozen=True, slots=True)
class Some(Generic[T]):
    """Things of one kind that need a hand: the first of them, and how many there are."""

    first: Sequence[T]
    total: int
    """1,001 stands for more."""


def some(found: Sequence[T]) -> Some[T]:
    """Things that were read as far as they are counted."""
    return Some(found[:MOST], len(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The open failure of a job that ended last: a run that was retried may be an old one."""

    run_id: int
    job: str
    step: str | None
    attempt: int
    error: str
    since: datetime | None
    count: int
    """Open failures of the job; 1,001 stands for more."""
    undo_failed: bool
    """Whether what it had done could not be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoing:
    """A run that ends badly, and of which an undo has failed at least once."""

    run_id: int
    job: str
    step: str
    attempt: int
    error: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LateSchedule:
    """A schedule whose time has passed, or cannot be computed."""

    job: str
    expression: str
    since: datetime | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRun:
    """A run that takes longer than its job's runs do, or whose time is nearly over."""

    run_id: int
    job: str
    since: datetime
    until: datetime | None
    expected: float | None
    """Seconds that nineteen of twenty runs of its job did not exceed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRun:
    """A run whose worker is silent or gone."""

    run_id: int
    root_id: int
    job: str
    step: str | None
    worker: str | None
    since: datetime | None


def in_line(kind: str | None, message: str | None) -> str:
    """An error on one line."""
    if kind in (None, "", "Fail", "Skip", "Cancel"):
        return message or ""
    return f"{kind}: {message or ''}".rstrip(": ")


def failed_of(row: Row) -> Failed:
    """A row as a failure; where a step failed, its error tells more."""
    own = in_line(row["error_type"], row["error"])
    of_step = in_line(row["step_error_type"], row["step_error"])
    return Failed(
        run_id=row["run_id"],
        job=row["job"],
        step=row["step"],
        attempt=row["attempt"],
        error=of_step or own,
        since=row["since"],
        count=row["count"],
        undo_failed=row["undo_failed"],
    )


async def failed(session: Transaction, workspace: str) -> Some[Failed]:
    """The jobs that have open failures, those with the newest first."""
    found = await session.fetch_text(FAILED, workspace, MOST)
    return Some([failed_of(row) for row in found], found[0]["jobs"] if found else 0)


async def undoing(session: Transaction, workspace: str) -> Sequence[Undoing]:
    """Runs of which an undo has failed and is tried again."""
    return [
        Undoing(
            run_id=row["run_id"],
            job=row["job"],
            step=row["step"],
            attempt=row["attempt"],
            error=in_line(row["error_type"], row["error"]),
            since=row["since"],
        )
        for row in await session.fetch_text(UNDOING, workspace, COUNTED)
    ]


async def late_schedules(session: Transaction, workspace: str) -> Sequence[LateSchedule]:
    """Schedules that should have fired."""
    found = await session.fetch_text(LATE_SCHEDULES, workspace, LATE, COUNTED)
    return [LateSchedule(**dict(row)) for row in found]


async def slow_runs(session: Transaction, workspace: str) -> Sequence[SlowRun]:
    """Runs that take too long."""
    found = await session.fetch_text(SLOW_RUNS, workspace, SLOW, COUNTED)
    return [SlowRun(**dict(row)) for row in found]


async def lost_runs(session: Transaction, workspace: str) -> Sequence[LostRun]:
    """Runs whose worker is gone."""
    return [LostRun(**dict(row)) for row in await session.fetch_text(LOST, workspace, COUNTED)]
