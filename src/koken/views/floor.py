"""Queues and workers: where work is carried out, and how full it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.run import stamp
from koken.store.database import Database
from koken.views.reading import rows

QUEUES = """
select q.name, q.paused_at, q.paused_by, q.pause_reason, q.max_running, q.rate, q.burst,
       (select count(*) from (select from koken.run r
          where r.queue_id = q.id and r.state = 'running' limit 1001) x) as running,
       (select count(*) from (select from koken.run r
          where r.queue_id = q.id and r.state = 'ready' limit 1001) x) as ready,
       coalesce((select sum((k.queues ->> q.name)::int) from koken.worker k
          where k.lost_at is null and k.cleared_at is null and k.queues ? q.name), 0) as slots
  from koken.queue q
 order by q.name
"""
WORKERS = """
select k.id, k.name, k.host, k.pid, k.app, k.version, k.queues::text as queues, k.slots, k.busy,
       k.started_at, k.beat_at, k.suspect_at, k.lost_at, k.stopped_at, k.draining_at,
       extract(epoch from koken.now() - k.beat_at)::float8 as silent_for
  from koken.worker k
 where $1 or k.cleared_at is null
 order by k.cleared_at is not null, k.id
 limit 500
"""


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

    @property
    def full(self) -> bool:
        """Whether runs wait while all slots are taken."""
        return self.ready > 0 and 0 < self.slots <= self.running

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain["full"] = self.full
        plain["limit"] = plain.pop("max_running")
        plain["paused_at"] = stamp(self.paused_at)
        return plain


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

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain["id"] = str(self.id)
        plain["queues"] = dict(self.queues)
        plain["started_at"] = stamp(self.started_at)
        plain["beat_at"] = stamp(self.beat_at)
        return plain


async def queues(db: Database) -> list[QueueRow]:
    """All queues, by name."""
    return [QueueRow(**dict(row)) for row in await rows(db, QUEUES)]


async def workers(db: Database, *, gone: bool = False) -> list[WorkerRow]:
    """Live workers; with ``gone`` also those that have left or were lost."""
    found = []
    for row in await rows(db, WORKERS, gone):
        values = dict(row)
        marks = {
            name: values.pop(f"{name}_at") for name in ("stopped", "lost", "suspect", "draining")
        }
        standing = next((name for name, at in marks.items() if at is not None), "live")
        values["queues"] = json.loads(values["queues"])
        found.append(WorkerRow(standing=standing, **values))
    return found
