"""Schedules: many of them, some due in one second, and what a look costs when none is due."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from statistics import median

from bench.crew import PATIENCE, Crew, Stuck
from bench.lab import Base, Lab
from bench.plan import OURS, Figure, Measure, Sample, Target, own
from bench.systems.base import System
from koken.engine import fire, pulse
from koken.model.schedule import Schedule
from koken.model.timing import DEFAULT
from koken.model.zones import tzdata_version
from koken.store.database import Database

AHEAD = 4
"""Seconds from the making of due schedules to the second in which they are due."""
LOOKS = 50

FAR = """
insert into koken.schedule (
  workspace_id, job_id, name, declared, expression, timezone, catchup, tzdata, next_at, cursor_at)
select 1, j.id, 'far ' || n, $2::jsonb, $2::jsonb ->> 'expression', 'UTC', 'latest', $3,
       now() + interval '1 day' + n * interval '0.1 s', now()
  from generate_series(1, $1::int) n cross join koken.job j
 where j.name = 'ticked'
"""
DUE = """
insert into koken.schedule (
  workspace_id, job_id, name, declared, expression, timezone, catchup, tzdata, next_at, cursor_at)
select 1, j.id, 'due ' || n, d.declared, d.declared ->> 'expression', 'UTC', 'latest', $3, $4, now()
  from generate_series(1, $1::int) n
  join koken.job j on j.name = case when n % 2 = 0 then 'ticked' else 'ticked_alone' end
  cross join lateral (select $2::jsonb || case when n % 2 = 0 then '{}' else
    jsonb_build_object('args', jsonb_build_object('customer', n)) end) d (declared)
"""
FIRED = "select count(*) from koken.tick where due_at = $1 and verdict = 'started'"


async def prepare(lab: Lab, base: Base) -> datetime:
    """All schedules anew; returns when the due ones are due."""
    await base.empty()
    await base.connection.execute("truncate koken.schedule")
    far = json.dumps(Schedule("0 3 * * *", timezone="UTC").to_json())
    count = lab.sizes.schedules - lab.sizes.due
    await base.connection.execute(FAR, count, far, tzdata_version())
    await base.settle()
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=AHEAD)
    daily = Schedule(f"{due.second} {due.minute} {due.hour} * * *", timezone="UTC")
    declared = json.dumps(daily.to_json())
    await base.connection.execute(DUE, lab.sizes.due, declared, tzdata_version(), due)
    return due


async def take(lab: Lab, system: System) -> Sample:
    """Seconds from the due second until the last tick stands, and until the last body has begun."""
    base = await lab.base(system, "schedules")
    due = await prepare(lab, base)
    async with Crew(base, lab.folder) as crew:
        crew.go()
        await asyncio.sleep((due - datetime.now(UTC)).total_seconds())
        server = lab.cpu()
        fired = await until_fired(lab, base, due)
        server = lab.cpu() - server
        await crew.reached(lab.sizes.due)
        ran = (datetime.now(UTC) - due).total_seconds()
        await crew.all_done()
    sweep, look = await empty_looks(base)
    return {"fired": fired, "ran": ran, "server_cpu": server, "sweep": sweep, "look": look}


async def until_fired(lab: Lab, base: Base, due: datetime) -> float:
    """Seconds until every due schedule has its tick."""
    while await base.connection.fetchval(FIRED, due) < lab.sizes.due:
        if (late := (datetime.now(UTC) - due).total_seconds()) > PATIENCE:
            raise Stuck(f"not all schedules fired within {late:.0f} s")
        await asyncio.sleep(0.01)
    return (datetime.now(UTC) - due).total_seconds()


async def empty_looks(base: Base) -> tuple[float, float]:
    """Milliseconds of a sweep that finds nothing due, and of a worker's look at what is due."""
    db = Database(base.url)
    sweeps: list[float] = []
    looks: list[float] = []
    try:
        for _ in range(LOOKS):
            began = time.perf_counter()
            await fire.fire(db)
            between = time.perf_counter()
            await pulse.pulse(db, [1], DEFAULT)
            sweeps.append((between - began) * 1000)
            looks.append((time.perf_counter() - between) * 1000)
    finally:
        await db.close()
    return median(sweeps), median(looks)


SCHEDULES = Measure(
    name="schedules",
    title="Schedules (100,000 at full size, 1,000 of them due in one second)",
    take=take,
    figures=(
        Figure("fired", "s until all fired", 2),
        Figure("ran", "s until all ran", 2),
        Figure("server_cpu", "server CPU s", 2),
        Figure("sweep", "empty sweep ms", 2),
        Figure("look", "empty look ms", 2),
    ),
    targets=(Target("all fired within the second", own("fired"), 1.0, most=True),),
    measures=lambda system: system.name == OURS,
    smaller_is_better=True,
)
