"""Queues in which runs wait that nobody takes, for the overview."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from koken.store.database import Transaction
from koken.views.hands import COUNTED

LONG = 3600.0
"""Seconds without a free slot from which on a queue needs a hand."""
STUCK_QUEUES = """
select q.name as queue, q.paused_at, q.paused_by, q.pause_reason, f.since, n.n as count,
       case when k.workers > 0 then t.taken_at end as taken_at
  from koken.queue q
 cross join lateral (
   select r.created_at as since from koken.run r
    where r.queue_id = q.id and r.state = 'ready'
      and r.workspace_id = (select w.id from koken.workspace w where w.name = $1)
    order by r.rank, r.id limit 1) f
 cross join lateral (
   select count(*) as n from (
     select from koken.run r
      where r.queue_id = q.id and r.state = 'ready'
        and r.workspace_id = (select w.id from koken.workspace w where w.name = $1)
      limit 1001) x) n
 cross join lateral (
   select count(*) as workers, sum((o.queues ->> q.name)::int) as slots
     from koken.worker o
    where o.lost_at is null and o.cleared_at is null and o.draining_at is null
      and o.queues ? q.name) k
 cross join lateral (
   select case when count(*) >= k.slots then max(x.claimed_at) end as taken_at from (
     select r.claimed_at from koken.run r
      where r.queue_id = q.id and r.state = 'running' limit 1001) x) t
 where q.paused_at is not null or k.workers = 0
    or t.taken_at < koken.now() - make_interval(secs => $3::float8)
 order by f.since
 limit $2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckQueue:
    """A queue in which runs wait that nobody takes: it is paused, no worker serves it, or no slot
    has come free for long."""

    queue: str
    paused_at: datetime | None
    paused_by: str | None
    pause_reason: str | None
    since: datetime
    count: int
    taken_at: datetime | None
    """When the last of its slots was taken, where no slot is free."""


async def stuck_queues(session: Transaction, workspace: str) -> Sequence[StuckQueue]:
    """Queues in which runs wait for nobody."""
    found = await session.fetch_text(STUCK_QUEUES, workspace, COUNTED, LONG)
    return [StuckQueue(**dict(row)) for row in found]
