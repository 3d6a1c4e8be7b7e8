"""How much history is older than it need be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from koken.store.database import Database
from koken.views.reading import reading

TICKS = """
select count(*) as ticks from (
  select from koken.schedule s,
    lateral (select max(n.due_at) as due_at from koken.tick n where n.schedule_id = s.id) last,
    lateral (
      select from koken.tick t
       where t.schedule_id = s.id
         and t.due_at < least(koken.now() - make_interval(secs => $1::float8), last.due_at)
         and t.fired_at < koken.now() - make_interval(secs => $1::float8)
       limit 1001) t
   limit 1001) x
"""
DAYS = """
select count(*) as days
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
 where i.inhparent = 'koken.log_line'::regclass and c.relname like 'log_line_2%'
   and c.relname < 'log_line_' || to_char(
     (koken.now() at time zone 'utc')::date - floor($1::float8 / 86400)::int, 'YYYYMMDD')
"""


@dataclass(frozen=True, slots=True)
class Old:
    """What has outlived its time, besides runs: ticks, and days of log lines."""

    ticks: int
    """Up to 1,000; 1,001 stands for more."""
    days: int


async def old(db: Database, keep: Mapping[str, float]) -> Old:
    """What a prune would take besides runs; ``keep`` is in seconds."""
    async with reading(db) as session:
        (ticks,) = await session.fetch_text(TICKS, keep["ticks"])
        (days,) = await session.fetch_text(DAYS, keep["logs"])
    return Old(ticks["ticks"], days["days"])
