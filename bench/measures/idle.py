"""Idle: what a worker costs that has nothing to do."""

from __future__ import annotations

import asyncio
import time

from bench import proc
from bench.crew import Crew
from bench.lab import Lab
from bench.plan import Figure, Measure, Sample, Target, own
from bench.systems.base import System

CONNECTIONS = "select count(*) - 1 from pg_stat_activity where datname = $1"
SETTLE = 3.0


async def take(lab: Lab, system: System) -> Sample:
    """Watch one worker for a while; what the bench asks goes to another database."""
    base = await lab.base(system)
    await base.empty()
    async with Crew(base, lab.folder) as crew:
        crew.go()
        await asyncio.sleep(SETTLE)
        began = time.monotonic()
        before = (await lab.calls(base), crew.cpu(), lab.cpu())
        await asyncio.sleep(lab.sizes.idle)
        now = (await lab.calls(base), crew.cpu(), lab.cpu())
        took = time.monotonic() - began
        resident, shared = proc.memory(crew.workers[0].pid)
        connections = float(await lab.control.fetchval(CONNECTIONS, base.name))
    statements, worker, server = ((b - a) / took for a, b in zip(before, now, strict=True))
    return {
        "statements": statements,
        "pss": shared,
        "rss": resident,
        "worker_cpu": worker * 100,
        "server_cpu": server * 100,
        "connections": connections,
    }


IDLE = Measure(
    name="idle",
    title="An idle worker",
    take=take,
    figures=(
        Figure("statements", "statements/s", 2),
        Figure("pss", "PSS MB"),
        Figure("rss", "RSS MB"),
        Figure("worker_cpu", "worker CPU %", 2),
        Figure("server_cpu", "server CPU %", 2),
        Figure("connections", "connections"),
    ),
    targets=(
        Target("at most 1 statement a second", own("statements"), 1, most=True),
        Target("at most 60 MB (PSS)", own("pss"), 60, most=True),
    ),
    rounds=1,
    smaller_is_better=True,
)
