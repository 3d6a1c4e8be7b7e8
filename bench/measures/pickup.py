"""Pickup: from the call that starts a job to the start of its function, by an idle worker.

Once with a job every few hundredths of a second, once with a single job after a long rest.
"""

from __future__ import annotations

import asyncio
import random
import time
from statistics import median, quantiles

from bench.crew import Crew
from bench.lab import Base, Lab
from bench.plan import Figure, Measure, Sample, Target, own
from bench.systems.base import System

PAUSE = (0.02, 0.05)
"""Seconds between a job and the next."""
CALM = 13.0
"""Seconds in which nothing happens."""
WARM = 10


async def pickups(crew: Crew, base: Base, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds until the function, and until the call returned, of each job."""
    waits: list[float] = []
    calls: list[float] = []
    async with base.producer() as producer:
        for number in range(count + WARM):
            await asyncio.sleep(random.uniform(*PAUSE))
            sent = time.monotonic_ns()
            await producer.start(sent)
            calls.append((time.monotonic_ns() - sent) / 1e6)
            await crew.reached(number + 1)
            waits.append(crew.tallies[0].wait_of(number))
        return waits[WARM:], calls[WARM:]


async def take(lab: Lab, system: System) -> Sample:
    """One job after another."""
    base = await lab.base(system)
    await base.empty()
    await base.settle()
    async with Crew(base, lab.folder) as crew:
        crew.go()
        await asyncio.sleep(1)
        waits, calls = await pickups(crew, base, lab.sizes.pickups)
    cuts = quantiles(waits, n=100, method="inclusive")
    return {"p50": median(waits), "p95": cuts[94], "p99": cuts[98], "call": median(calls)}


async def rested(lab: Lab, system: System) -> Sample:
    """One job for a worker that has waited for a long time."""
    base = await lab.base(system)
    await base.empty()
    async with Crew(base, lab.folder) as crew, base.producer() as producer:
        crew.go()
        await producer.start(time.monotonic_ns())
        await crew.reached(1)
        await asyncio.sleep(CALM)
        await producer.start(time.monotonic_ns())
        await crew.reached(2)
        return {"wait": crew.tallies[0].wait_of(1)}


PICKUP = Measure(
    name="pickup",
    title="Pickup by an idle worker, from the call to the function",
    take=take,
    figures=(
        Figure("p50", "median ms", 2),
        Figure("p95", "95th ms", 2),
        Figure("p99", "99th ms", 2),
        Figure("call", "start call ms", 2),
    ),
    targets=(
        Target("pickup median under 3.5 ms", own("p50"), 3.5, most=True),
        Target("pickup 99th under 10 ms", own("p99"), 10, most=True),
    ),
    smaller_is_better=True,
)
RESTED = Measure(
    name="pickup-rested",
    title="Pickup of one job after 13 s without any",
    take=rested,
    figures=(Figure("wait", "ms", 1),),
    targets=(Target("at most 20 ms", own("wait"), 20, most=True),),
    rounds=1,
    smaller_is_better=True,
)
