"""The console's pages beside a long past: how long each takes, request to last byte."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from bench.asker import Line, console
from bench.lab import Base, Lab
from bench.plan import OURS, Figure, Measure, Sample, Target, own
from bench.systems.base import System
from koken import App, AsyncClient, Step, Workflow
from koken.config import load
from koken.engine.publish import publish
from koken.runtime.worker import Worker
from koken.store.database import Database

JOBS = 1_000
LINES = 100_000
CHAINS, LINKS = 100, 10
"""Steps of one run: so many chains of so many."""
TIMES = 7
"""How often each page is asked for."""

PAST = """
insert into koken.run (
  workspace_id, job_id, version_id, queue_id, state, priority, rank, lease, attempt, max_attempts,
  max_infra_attempts, worker_id, args, result, error, trigger_kind, trigger_by, logical_at,
  created_at, started_at, claimed_at, finished_at)
select 1, j.id, v.id, v.queue_id, s.state, 0, at, 1, 1, v.max_attempts, v.max_infra_attempts, 1,
       jsonb_build_object('n', n), case when s.state = 'succeeded' then '7'::jsonb end,
       case when s.state = 'failed' then '{"type": "OSError", "message": "no space"}'::jsonb end,
       'user', 'anna', at, at, at, at, at + interval '3 s' * (1 + n % 7)
  from generate_series(1, $1::int) n
  cross join lateral (select now() - ($1 - n) * interval '2 s' - interval '1 min' as at) t
  cross join lateral (select case when n % 200 = 0 then 'failed' when n % 333 = 0 then 'skipped'
                        else 'succeeded' end as state) s
  join (select *, row_number() over (order by id) as number from koken.job) j
    on j.number = 1 + n % $2::int
  join koken.job_version v on v.id = j.version_id
"""
TALKATIVE = """
insert into koken.log_line (run_id, lease, at, level, stream, text)
select (select max(id) from koken.run), 1, now(), 'info', 'stdout', 'line ' || n || ' of many'
  from generate_series(1, $1::int) n
"""


def declare_steps(app: App) -> Workflow[[]]:
    """A workflow of a thousand steps."""
    flow = app.workflow("many-steps")

    def step() -> None:
        """Nothing."""

    for chain in range(CHAINS):
        before: list[Step[..., Any]] = []
        for link in range(LINKS):
            before = [flow.step(step, name=f"chain-{chain}-{link}", after=before)]
    return flow


async def carried_out(app: App, flow: Workflow[[]]) -> int:
    """A run of the workflow, to its end."""
    worker = Worker(app, load(app.settings))
    await worker.start()
    async with AsyncClient(app) as client:
        run = await client.wait(await client.start(flow), timeout=120)
    await worker.stop(grace=5)
    assert run.state == "succeeded", run
    return run.id


async def furnish(lab: Lab, base: Base) -> dict[str, str]:
    """A thousand jobs, their past, runs of many lines and of many steps; gives the pages."""
    app = App("bench", database_url=base.url)
    flow = declare_steps(app)
    for number in range(JOBS):

        def body(n: int = 0) -> int:
            """Effects: none."""
            return n

        minute = f"{number % 60} {number % 24} * * *"
        app.job(body, name=f"job-{number:04d}", schedule=minute, tags=[f"team-{number % 9}"])
    db = Database(base.url)
    await publish(db, "bench", app.registry.specs(), by="bench", whole=False)
    await db.close()
    await base.connection.execute(PAST, lab.sizes.history, JOBS, timeout=600)
    await base.connection.execute(TALKATIVE, LINES, timeout=600)
    steps = await carried_out(app, flow)
    await base.connection.execute("vacuum analyze", timeout=600)
    runs, run = await base.connection.fetchrow(
        "select count(*), max(id) from koken.run where id < $1", steps
    )
    assert runs == lab.sizes.history, f"{runs} runs"
    return {
        "overview": "/",
        "jobs": "/jobs",
        "job": "/jobs/job-0001",
        "runs": "/runs",
        "failed": "/runs?q=state:failed",
        "run": f"/runs/{run}",
        "log": f"/runs/{run}?tab=log",
        "steps": f"/runs/{steps}?tab=steps",
        "schedules": "/schedules",
        "queues": "/queues",
        "events": "/events",
    }


async def pages(lab: Lab, system: System) -> Sample:
    """Milliseconds of each page, the median; and of the slowest."""
    base = await lab.base(system, "pages")
    asked = await furnish(lab, base)
    took: dict[str, float] = {}
    async with console(base.url, lab.folder) as port:
        line = Line(port)
        await line.open()
        for name, path in asked.items():
            lengths = []
            for _ in range(TIMES):
                began = time.perf_counter()
                status, body = await line.ask("GET", path)
                lengths.append((time.perf_counter() - began) * 1000)
                assert status == 200, f"{path}: {status} {body[:300]!r}"
            took[name] = median(lengths)
        line.close()
    return {**took, "slowest": max(took.values())}


PAGES = Measure(
    name="pages",
    title="Pages of the console beside a long past",
    take=pages,
    figures=(
        Figure("slowest", "slowest ms"),
        Figure("overview", "overview ms"),
        Figure("jobs", "jobs ms"),
        Figure("job", "job ms"),
        Figure("runs", "runs ms"),
        Figure("failed", "state:failed ms"),
        Figure("run", "run ms"),
        Figure("log", "log ms"),
        Figure("steps", "1,000 steps ms"),
        Figure("schedules", "schedules ms"),
        Figure("queues", "queues ms"),
        Figure("events", "events ms"),
    ),
    targets=(Target("every page under 200 ms", own("slowest"), 200, most=True),),
    measures=lambda system: system.name == OURS,
    rounds=1,
    smaller_is_better=True,
)
