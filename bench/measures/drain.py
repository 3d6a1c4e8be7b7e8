"""Drain: how fast workers empty a backlog of empty jobs, and what a job costs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from bench.crew import Crew, Stuck
from bench.lab import Base, Lab
from bench.plan import Figure, Measure, Sample, Target, against, own
from bench.systems.base import System

FIGURES = (
    Figure("rate", "jobs/s"),
    Figure("worker_cpu", "worker CPU ms/job", 3),
    Figure("server_cpu", "server CPU ms/job", 3),
    Figure("cpu", "CPU ms/job", 3),
    Figure("statements", "statements/job", 3),
    Figure("transactions", "transactions/job", 3),
    Figure("wal", "WAL B/job"),
)


async def drain(lab: Lab, base: Base, workers: int, *, sudden: bool = False) -> Sample:
    """Drain a new backlog. From the first body to the last durable ending; ``transactions`` alone
    include the workers' start and end."""
    jobs = int(lab.sizes.jobs * base.system.share)
    await base.fill(jobs, sudden=sudden)
    before = await base.finished()
    transactions = await lab.transactions(base)
    async with Crew(base, lab.folder, workers) as crew:
        crew.go()
        await crew.reached(1)
        began = time.perf_counter()
        spent = (crew.cpu(), lab.cpu(), await lab.calls(base), await lab.wal())
        await crew.reached(jobs, look=0.005)
        await crew.all_done()
        took = time.perf_counter() - began
        now = (crew.cpu(), lab.cpu(), await lab.calls(base), await lab.wal())
        bodies = crew.begun
    finished = await base.finished() - before
    if (bodies, finished) != (jobs, jobs):
        raise Stuck(f"{base.system.name}: {jobs} jobs, {bodies} bodies, {finished} finished")
    worker_cpu, server_cpu, statements, wal = (b - a for a, b in zip(spent, now, strict=True))
    return {
        "rate": jobs / took,
        "worker_cpu": worker_cpu / jobs * 1000,
        "server_cpu": server_cpu / jobs * 1000,
        "cpu": (worker_cpu + server_cpu) / jobs * 1000,
        "statements": statements / jobs,
        "transactions": (await lab.transactions(base) - transactions) / jobs,
        "wal": wal / jobs,
    }


def by(workers: int) -> Callable[[Lab, System], Awaitable[Sample]]:
    """A drain of an empty table by so many workers."""

    async def take(lab: Lab, system: System) -> Sample:
        base = await lab.base(system)
        await base.empty()
        return await drain(lab, base, workers)

    return take


ONE = Measure(
    name="drain",
    title="Drain, one worker process",
    take=by(1),
    figures=FIGURES,
    targets=(
        Target("drain at least 1.3 × pgqueuer", against("pgqueuer", "rate"), 1.3),
        Target("at most 0.10 ms of CPU a job", own("cpu"), 0.10, most=True),
    ),
)
TWO = Measure(
    name="drain-two",
    title="Drain, two worker processes",
    take=by(2),
    figures=FIGURES,
    targets=(Target("drain at least 1.3 × pgqueuer", against("pgqueuer", "rate"), 1.3),),
)
