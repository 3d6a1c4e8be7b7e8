"""Queues and workers: where work is carried out, and how full it is."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.plain import stamp
from koken.store.database import Database, Row
from koken.views.reading import reading, rows

QUEUES = """
select q.name, q.paused_at, q.paused_by, q.pause_reason, q.max_running, q.rate, q.burst,
       n.slots, c.running, c.ready,
       (select case when n.slots > 0 and count(*) >= n.slots
                    then extract(epoch from koken.now() - max(x.claimed_at))::float8 end
          from (select r.claimed_at from koken.run r
                 where r.queue_id = q.id and r.state = 'running' limit 1001) x) as taken_for
  from koken.queue q
 cross join lateral (
   select coalesce(sum((k.queues ->> q.name)::int), 0) as slots from koken.worker k
    where k.lost_at is null and k.cleared_at is null and k.queues ? q.name) n
 cross join lateral (
   select (select count(*) from (select from koken.run r
             where r.queue_id = q.id and r.state = 'running' and {0} limit 1001) x) as running,
          (select count(*) from (select from koken.run r
             where r.queue_id = q.id and r.state = 'ready' and {0} limit 1001) x) as ready) c
 where {1}
 order by q.name
"""
WORKERS = """
select k.id, k.name, k.host, k.pid, k.app, k.version, k.queues::text as queues, k.slots, k.busy,
       k.started_at, k.beat_at, k.suspect_at, k.lost_at, k.stopped_at, k.draining_at,
       extract(epoch from koken.now() - k.beat_at)::float8 as silent_for,
       k.cleared_at is not null as cleared
  from koken.worker k
 where ($1 or k.cleared_at is null) and (k.cleared_at is not null, k.id) > ($2, $3)
 order by k.cleared_at is not null, k.id
 limit $4
"""
AT_WORK = """
select r.worker_id, r.id as run_id, coalesce(r.root_id, r.id) as root_id, j.name as job, r.step,
       r.claimed_at as since
  from koken.run r
  join koken.job j on j.id = r.job_id
 where r.worker_id = any($1::int[]) and r.state = 'running'
   and r.workspace_id = (select w.id from koken.workspace w where w.name = $2)
 order by r.worker_id, r.id
 limit 10001
"""
TELLING = 60.0
"""Seconds from which on it is told for how long no slot has come free."""
ANYWHERE = "true"
HERE = "r.workspace_id = (select w.id from koken.workspace w where w.name = ${})"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue; counts go up to 1,000, and 1,001 stands for more."""

    name: str
    running: int
    ready: int
    slots: int
    max_running: int | None
    rate: float | None
    burst: int
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    taken_for: float | None = None
    """For how many seconds no slot has been free, whoever has them; None where one is."""

    @property
    def full(self) -> bool:
        """Whether runs wait while all slots are taken."""
        return self.ready > 0 and (self.taken_for is not None or 0 < self.slots <= self.running)

    @property
    def stuck_for(self) -> float | None:
        """For how many seconds runs have waited for a slot to come free, where it is long enough to
        be told."""
        long = self.full and self.taken_for is not None and self.taken_for >= TELLING
        return self.taken_for if long else None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain["full"] = self.full
        plain["limit"] = plain.pop("max_running")
        plain["paused_at"] = stamp(self.paused_at)
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class AtWork:
    """A run that a worker carries out."""

    run_id: int
    root_id: int
    """The run that it belongs to; the run itself, where it belongs to none."""
    job: str
    step: str | None
    since: datetime | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "run": str(self.run_id),
            "root": str(self.root_id),
            "job": self.job,
            "step": self.step,
            "since": stamp(self.since),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """A worker and how it is."""

    id: int
    name: str
    host: str
    pid: int
    app: str
    version: str
    queues: Mapping[str, int]
    slots: int
    busy: int
    started_at: datetime
    beat_at: datetime
    silent_for: float
    """Seconds since its last beat."""
    standing: str
    """live, draining, suspect, lost, stopped."""
    cleared: bool = False
    """Whether it is gone, and nobody has to look after its runs any more."""
    runs: tuple[AtWork, ...] | None = None
    """What it carries out in one workspace; None where nobody has asked for one."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        del plain["runs"], plain["cleared"]
        if self.runs is not None:
            plain["runs"] = [each.to_json() for each in self.runs]
        plain["id"] = str(self.id)
        plain["queues"] = dict(self.queues)
        plain["started_at"] = stamp(self.started_at)
        plain["beat_at"] = stamp(self.beat_at)
        return plain


async def queues(
    db: Database, *, workspace: str | None = None, name: str | None = None
) -> list[QueueRow]:
    """All queues by name, or that of one name; with ``workspace``, only its runs are counted."""
    here = ANYWHERE if workspace is None else HERE.format(1)
    given = [] if workspace is None else [workspace]
    only = ANYWHERE
    if name is not None:
        given.append(name)
        only = f"q.name = ${len(given)}"
    found = await rows(db, QUEUES.format(here, only), *given)
    return [QueueRow(**dict(row)) for row in found]


async def workers(
    db: Database,
    *,
    gone: bool = False,
    workspace: str | None = None,
    after: tuple[bool, int] = (False, 0),
    limit: int = 500,
) -> list[WorkerRow]:
    """Live workers; with ``gone`` also those that have left or were lost, after the others.

    With ``workspace``, each has what it carries out there, and is as busy as that. ``after``: of
    the last of the page before, whether it was gone, and its number.
    """
    async with reading(db) as session:
        found = await session.fetch_text(WORKERS, gone, *after, limit)
        if workspace is None:
            return [worker_of(row, None) for row in found]
        going = await session.fetch_text(AT_WORK, [row["id"] for row in found], workspace)
    runs: dict[int, list[AtWork]] = defaultdict(list)
    for row in going:
        values = dict(row)
        runs[values.pop("worker_id")].append(AtWork(**values))
    return [worker_of(row, tuple(runs[row["id"]])) for row in found]


def worker_of(row: Row, runs: tuple[AtWork, ...] | None) -> WorkerRow:
    """A worker."""
    values = dict(row)
    marks = {name: values.pop(f"{name}_at") for name in ("stopped", "lost", "suspect", "draining")}
    standing = next((name for name, at in marks.items() if at is not None), "live")
    values["queues"] = json.loads(values["queues"])
    if runs is not None:
        values["busy"] = len(runs)
    return WorkerRow(standing=standing, runs=runs, **values)
