"""Workspaces: how much goes on in each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.plain import stamp
from koken.store.database import Database
from koken.views.reading import rows

# The newest run of each job is the first of its own part of the index: one look for each job.
WORKSPACES = """
select w.name, w.created_at,
       (select count(*) from (select from koken.run r
          where r.state = 'running' and r.worker_id is not null and r.workspace_id = w.id
          limit 1001) x) as running,
       (select count(*) from (select from koken.queue q
          join lateral (select from koken.run r
            where r.queue_id = q.id and r.workspace_id = w.id and r.state = 'ready'
            limit 1001) y on true
          limit 1001) x) as ready,
       (select count(*) from (select from koken.run r
          where r.workspace_id = w.id and r.state = 'failed'
            and r.acknowledged_at is null and r.parent_id is null
          limit 1001) x) as failed,
       (select r.created_at from koken.run r where r.id = (
          with recursive last as (
            (select job_id, id from koken.run
              where workspace_id = w.id and parent_id is null
              order by workspace_id, job_id, id desc limit 1)
            union all
            select n.job_id, n.id from last l cross join lateral (
              select job_id, id from koken.run
               where workspace_id = w.id and parent_id is null and job_id > l.job_id
               order by workspace_id, job_id, id desc limit 1) n)
          select max(id) from last)) as last_at
  from koken.workspace w
 where w.id <> 2 and ($1::text[] is null or w.name = any($1))
   and w.name > $2
 order by w.name
 limit $3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRow:
    """A workspace; counts go up to 1,000, and 1,001 stands for more."""

    name: str
    running: int
    ready: int
    failed: int
    """Runs that failed and are neither repaired nor acknowledged."""
    last_at: datetime | None
    """When its newest run was made."""
    created_at: datetime

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name,
            "running": self.running,
            "ready": self.ready,
            "failed": self.failed,
            "last_at": stamp(self.last_at),
            "created_at": stamp(self.created_at),
        }


async def workspaces(
    db: Database, names: Collection[str] | None = None, *, after: str = "", limit: int = 1000
) -> list[WorkspaceRow]:
    """These workspaces by name, as far as they exist; None: all. A page begins ``after`` a name."""
    wanted = None if names is None else list(names)
    found = await rows(db, WORKSPACES, wanted, after, limit)
    return [WorkspaceRow(**dict(row)) for row in found]
