"""What was: a week of runs, and how runs that were made just now are moved to when they were."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from koken.define.job import Job
from tests.web import company
from tests.web.company import app

OVER = "('succeeded', 'failed', 'cancelled', 'skipped')"
MOVE = """
create temp table moved (root bigint primary key, at timestamptz, waits interval, takes interval,
                         made timestamptz, began timestamptz, ended timestamptz);
create function pg_temp.moved(t timestamptz, m moved) returns timestamptz
language sql immutable as $$
  select case when t is null then null
    when t <= m.began then m.at + m.waits * least(1, greatest(0, extract(epoch from t - m.made)
         / greatest(extract(epoch from m.began - m.made), 1e-6)))
    else m.at + m.waits + m.takes * least(1, extract(epoch from t - m.began)
         / greatest(extract(epoch from m.ended - m.began), 1e-6)) end $$;
"""
MOVED = f"""
insert into moved select r.id, %s, %s, %s, r.created_at, coalesce(r.started_at, r.created_at),
       case when r.state in {OVER} then r.finished_at else koken.now() end
  from koken.run r where r.id = %s
"""
APPLY = """
create temp table at_run as
  select r.id, m from koken.run r join moved m on m.root = coalesce(r.root_id, r.id);
create index on at_run (id);
update koken.run r set created_at = pg_temp.moved(r.created_at, a.m),
       started_at = pg_temp.moved(r.started_at, a.m), claimed_at = pg_temp.moved(r.claimed_at, a.m),
       finished_at = pg_temp.moved(r.finished_at, a.m),
       acknowledged_at = pg_temp.moved(r.acknowledged_at, a.m)
  from at_run a where a.id = r.id;
update koken.attempt t set started_at = pg_temp.moved(t.started_at, a.m),
       ended_at = pg_temp.moved(t.ended_at, a.m)
  from at_run a where a.id = t.run_id;
update koken.log_line l set at = pg_temp.moved(l.at, a.m) from at_run a where a.id = l.run_id;
update koken.event e set at = pg_temp.moved(e.at, a.m) from at_run a where a.id = e.run_id;
update koken.question q set asked_at = pg_temp.moved(q.asked_at, a.m)
  from at_run a where a.id = q.run_id;
update koken.checkpoint c set at = pg_temp.moved(c.at, a.m) from at_run a where a.id = c.run_id;
"""
BY_TICK = """
with s as (select s.id, s.next_at from koken.schedule s join koken.job j on j.id = s.job_id
            where j.name = %s and s.workspace_id = 1 and s.retired_at is null limit 1),
changed as (update koken.run r set trigger_kind = 'schedule', trigger_by = null, schedule_id = s.id,
       logical_at = date_trunc('minute', r.created_at) from s where r.id = %s
       returning s.id, r.logical_at, r.id as run_id)
insert into koken.tick (schedule_id, due_at, until_at, verdict, run_id, fired_at)
select id, logical_at, logical_at, 'started', run_id, logical_at + interval '1 s' from changed
on conflict do nothing
"""
HELD = """
update koken.hold h set granted_at = r.claimed_at from koken.run r
 where r.id = h.run_id and h.granted_at is not null
"""
OTHER_TICKS = """
insert into koken.tick (schedule_id, due_at, until_at, count, verdict, reason)
select s.id, h.at, h.at, v.n, v.verdict, v.reason
  from koken.schedule s join koken.job j on j.id = s.job_id and j.name = 'sync-ads',
       (values (1, 'skipped', 'the last run still goes'),
               (3, 'missed', 'no worker was there')) v (n, verdict, reason),
       lateral (select date_trunc('hour', koken.now()) - v.n * interval '7 h' as at) h
on conflict do nothing
"""
HOME = "/srv/halma"
"""Where the company's program lies, for all that its tracebacks tell."""
MOVED_HOME = """
update koken.log_line set text = replace(text, %(here)s, %(home)s) where text like %(any)s;
update koken.run set error = replace(error::text, %(here)s, %(home)s)::jsonb
 where error::text like %(any)s;
update koken.attempt set error = replace(error::text, %(here)s, %(home)s)::jsonb
 where error::text like %(any)s
"""
TROUBLES = """
update koken.worker set started_at = koken.now() - interval '26 h' where cleared_at is null;
update koken.worker set beat_at = koken.now() - interval '3 h',
       lost_at = koken.now() - interval '2 h 58 min' where name = 'wien-1';
update koken.queue set paused_at = koken.now() - interval '50 min' where name = 'reports';
update koken.run set wake_at = koken.now() + interval '8 min' where wait_cause = 'retry';
update koken.schedule s set next_at = koken.now() - interval '25 min'
  from koken.job j where j.id = s.job_id and j.name = 'import-orders';
"""


@dataclass(frozen=True, slots=True)
class Past:
    """A run that was: when, of what, how long."""

    hours: float
    job: Job[..., Any]
    args: dict[str, Any]
    takes: float
    by: str = ""


def history(now: datetime) -> list[Past]:
    """A week of it, oldest first, the same each time but for what hangs on the date."""
    dice = random.Random(7)
    made: list[Past] = []

    def several(
        job: Any,
        count: int,
        hours: float,
        takes: float,
        args: Any,
        by: str = "",
        least: float = 0.4,
    ) -> None:
        for number in range(count):
            at = hours * (count - number - dice.random() * 0.8) / count
            long = takes * dice.lognormvariate(0, 0.35)
            made.append(Past(max(at, least), job, args(number), long, by))

    accounts = ["halma-de", "halma-at", "halma-de", "halma-ch", "halma-de"]
    several(company.sync_ads, 60, 168, 95, lambda n: {"account": accounts[n % 5]}, least=1.2)
    several(company.sync_ads, 40, 22, 95, lambda n: {"account": accounts[n % 5]}, least=1.2)
    several(company.sync_ads, 5, 120, 30, lambda n: {"account": "halma-fr"})
    shops = ["berlin", "hamburg", "koeln", "muenchen"]
    several(company.import_orders, 70, 40, 21, lambda n: {"shop": shops[n % 4]})
    several(company.resize_picture, 56, 30, 2.4, lambda n: {"picture": n + 1}, "shop")
    several(company.price_check, 24, 160, 44, lambda n: {"market": ["DE", "AT", "CH"][n % 3]})
    several(company.rebuild_index, 10, 150, 240, lambda n: {"shop": shops[n % 4]}, "deploy", 4)
    several(company.send_invoices, 3, 100, 12, lambda n: {"month": f"2026-{n + 9:02}"}, "lea")
    several(company.clean_up_images, 2, 150, 300, lambda n: {"days": 90})
    several(company.train_forecast, 2, 160, 1500, lambda n: {"weeks": 4})
    for days in range(6, -1, -1):
        day = now.date() - timedelta(days=days)
        late = 24 * days
        long = dice.lognormvariate(0, 0.2)
        made.append(Past(late + 9.5, company.nightly, {"day": day}, 2400 * long))
        made.append(Past(late + 12.2, by_name("backup"), {}, 640 * long))
        if days:
            made.append(Past(late + 8.9, company.daily_report, {"day": day}, 130 * long))
    return sorted(made, key=lambda past: -past.hours)


def by_name(name: str) -> Job[..., Any]:
    """A job of the company."""
    return app.registry.get(name)


async def into_the_past(url: str, pasts: Sequence[tuple[int, Past]], now: datetime) -> None:
    """Move everything to when it was."""
    dice = random.Random(11)
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await connection.execute("set search_path to koken, public")
        await connection.execute(MOVE)
        for run_id, past in pasts:
            at = now - timedelta(hours=past.hours)
            waits = timedelta(seconds=dice.uniform(0.05, 4))
            takes = min(timedelta(seconds=past.takes), now - at - waits)
            await connection.execute(MOVED, (at, waits, takes, run_id))
        await connection.execute(APPLY)
        await connection.execute(HELD)
        for run_id, past in pasts:
            if past.hours > 0.3 and past.job.declared.schedules and not past.by:
                await connection.execute(BY_TICK, (past.job.name, run_id))
        await connection.execute(OTHER_TICKS)
        here = str(Path(__file__).parent)
        told = {"here": here, "home": HOME, "any": f"%{here}%"}
        for statement in MOVED_HOME.split(";"):
            await connection.execute(statement, told)
        await connection.execute("analyze")
