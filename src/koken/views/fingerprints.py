"""Short texts that change when something has: what tells those who watch that it is worth a look.

They are found by index and stay cheap: of a large tree the first ``TREE_MOST`` runs are looked at
one by one, level by level, and of the rest what their parents count.
"""

from __future__ import annotations

import re
from typing import Any

from koken.store.database import Transaction

MARK = re.compile(r"[0-9a-f]{32}")
"""What a fingerprint looks like."""
TREE_MOST = 2000
COMMITTED = "select pg_current_snapshot()::text as mark"
"""Moves with every commit on the server that has written something, and with nothing else."""
WRITTEN = "hashint8extended(r.id, r.xmin::text::bigint)"
"""Another number for each time that the row of a run was written."""
OF_TREE = f"""
with recursive start as materialized (
    select r.id, coalesce(r.root_id, r.id) as root from koken.run r where r.id = $1),
  tree as (
    select r.id, {WRITTEN} as mark
      from start s join koken.run r on r.id = any(array[s.id, s.root])
    union all
    select c.id, c.mark
      from tree t cross join lateral (
        select r.id, {WRITTEN} as mark from koken.run r where r.parent_id = t.id
         order by r.step_no limit {TREE_MOST}) c)
"""
OF_RUN = f"""
{OF_TREE}
select md5(row(
  (select sum(x.mark) from (select mark from tree limit {TREE_MOST}) x),
  (select sum(x.id) from (
     select e.id from koken.event e where e.run_id = s.id order by e.id desc limit 50) x),
  (select row(count(*), count(x.answered_at), count(x.closed_at), max(x.asked_at)) from (
     select * from koken.question q where q.run_id = s.id limit 1000) x),
  (select row(count(*), max(x.id), count(x.taken_by)) from (
     select * from koken.signal g where g.run_id = s.id limit 1000) x),
  (select row(count(*), max(x.at)) from (
     select c.at from koken.checkpoint c where c.run_id = s.id limit 2000) x),
  (select row(count(*), max(x.updated_at)) from (
     select l.updated_at from koken.ledger l where l.run_id = s.id limit 2000) x),
  (select row(count(*), count(h.granted_at)) from koken.hold h where h.run_id = s.id),
  (select q.paused_at from koken.run r join koken.queue q on q.id = r.queue_id
    where r.id = s.id))::text) as mark
  from start s
"""
OF_LOG = f"""
{OF_TREE},
at_work as materialized (
  select r.id from start s join koken.run r on r.state = 'running'
    and (r.id = s.id or r.root_id = s.root and s.id = any(koken.ancestors(r.id))))
select md5(row(
  (select sum(x.mark) from (select mark from tree limit {TREE_MOST}) x),
  (select sum(l.id) from at_work w cross join lateral (
     select x.id from koken.log_line x where x.run_id = w.id order by x.id desc limit 1) l)
  )::text) as mark
  from start s
"""
OF_WORKSPACE = f"""
with place as materialized (
  select w.id from koken.workspace w where w.name = $1)
select md5(row(
  (select row(sum(hashtextextended(row(j.id, j.version_id, j.retired_at)::text, 0)), sum(n.ids))
     from koken.job j cross join lateral (
       select sum(x.id) as ids from (
         select r.id from koken.run r
          where r.workspace_id = p.id and r.job_id = j.id and r.parent_id is null
          order by r.id desc limit 2) x) n
    where j.workspace_id in (2, p.id)),
  (select sum({WRITTEN})
     from koken.run r where r.state = 'running' and r.workspace_id = p.id),
  (select sum(hashtextextended(row(
            q.id, q.paused_at, q.pause_reason, q.max_running, q.rate, q.burst, n.ids)::text, 0))
     from koken.queue q cross join lateral (
       select sum(x.id) as ids from (
         select r.id from koken.run r
          where r.state = 'ready' and r.queue_id = q.id and r.workspace_id = p.id
          order by r.rank, r.id limit 200) x) n),
  (select sum(x.id) from (
     select r.id, r.workspace_id from koken.run r
      where r.state = 'waiting' and r.wake_at is not null
      order by r.wake_at limit 500) x where x.workspace_id = p.id),
  (select row(count(*), sum(x.id)) from (
     select r.id from koken.run r
      where r.workspace_id = p.id and r.state in ('failed', 'cancelled')
        and r.acknowledged_at is null and r.parent_id is null
      order by r.workspace_id, r.job_id, r.id limit 1000) x),
  (select sum(x.id) from (
     (select e.id from koken.event e where e.workspace_id = p.id order by e.id desc limit 100)
     union all
     (select e.id from koken.event e where e.workspace_id = 2 order by e.id desc limit 100)) x),
  (select sum(hashtextextended(row(s.id, s.revision, s.paused_at, s.pause_reason, s.retired_at,
            s.next_at, s.problem)::text, 0))
     from koken.schedule s where s.workspace_id = p.id),
  (select sum(hashtextextended(row(k.id, k.version, k.queues, k.slots, k.suspect_at is null,
            k.lost_at, k.stopped_at, k.draining_at)::text, 0))
     from koken.worker k where k.cleared_at is null),
  (select sum(hashtextextended(row(b.id, b.next_at)::text, 0))
     from koken.bulk b where b.state = 'running' and b.workspace_id = p.id))::text) as mark
  from place p
"""
OF_EVENTS = """
with place as materialized (
  select w.id from koken.workspace w where w.name = $1)
select md5(row(
  (select sum(x.id) from (
     select e.id from koken.event e where e.workspace_id = p.id order by e.id desc limit 500) x),
  (select sum(x.id) from (
     select e.id from koken.event e where e.workspace_id = 2 order by e.id desc limit 500) x)
  )::text) as mark
  from place p
"""
OF_ACCESS = """
select md5(row(
  (select sum(hashtextextended(row(u.id, u.name, u.disabled_at)::text, 0)) from koken.user u),
  (select sum(hashtextextended(row(m.user_id, m.workspace_id, m.role)::text, 0))
     from koken.membership m),
  (select sum(hashtextextended(s.hash::text, 0)) from koken.session s),
  (select sum(hashtextextended(row(t.id, t.workspace_id, t.rights, t.expires_at)::text, 0))
     from koken.token t where t.revoked_at is null))::text) as mark
"""


async def committed(session: Transaction) -> str:
    """Equal twice only when nothing was written between, by anybody."""
    return await mark(session, COMMITTED)


async def of_run(session: Transaction, run_id: int) -> str:
    """How a run and the tree that it is part of stand; empty where there is no such run."""
    return await mark(session, OF_RUN, run_id)


async def of_log(session: Transaction, run_id: int) -> str:
    """How far the lines of a run and of all below it go; empty where there is no such run."""
    return await mark(session, OF_LOG, run_id)


async def of_workspace(session: Transaction, workspace: str) -> str:
    """How a workspace stands: its runs, jobs, schedules, events, and the queues and workers."""
    return await mark(session, OF_WORKSPACE, workspace)


async def of_events(session: Transaction, workspace: str) -> str:
    """Which events of a workspace, and of what all share, were the last."""
    return await mark(session, OF_EVENTS, workspace)


async def of_access(session: Transaction) -> str:
    """Who may come in, and what they may do: people, their roles, sessions, tokens."""
    return await mark(session, OF_ACCESS)


async def mark(session: Transaction, text: str, *args: Any) -> str:
    """The one value of a statement, or an empty text."""
    found = await session.fetch_text(text, *args)
    return str(found[0]["mark"]) if found else ""
