"""Chains of ten steps: many at once, and one alone."""

from __future__ import annotations

import asyncio
import random
import time
from statistics import median, quantiles

from bench.crew import Crew, Stuck
from bench.lab import Base, Lab
from bench.measures.pickup import PAUSE
from bench.plan import Figure, Measure, Sample, Target, own
from bench.systems.base import LINKS, System

WARM = 3
"""Chains that are not counted."""


async def many(lab: Lab, system: System) -> Sample:
    """Steps a second, from the call that starts the chains until none is left."""
    base = await lab.base(system)
    found: dict[str, float] = {}
    for kind in system.chains:
        await base.empty()
        await base.settle()
        rate, cpu = await waves(lab, base, kind)
        prefix = "" if kind == system.chains[0] else f"{kind}_"
        found |= {f"{prefix}rate": rate, f"{prefix}cpu": cpu}
    return found


async def waves(lab: Lab, base: Base, kind: str) -> tuple[float, float]:
    """Steps a second, and milliseconds of processor time a step."""
    chains = lab.sizes.chains
    took = 0.0
    async with Crew(base, lab.folder) as crew, base.producer() as producer:
        crew.go()
        await producer.start_chains(kind, WARM, 0)
        await through(crew, WARM)
        spent = crew.cpu() + lab.cpu()
        for wave in range(1, lab.sizes.waves + 1):
            began = time.perf_counter()
            await producer.start_chains(kind, chains, 0)
            await through(crew, WARM + wave * chains)
            took += time.perf_counter() - began
        spent = crew.cpu() + lab.cpu() - spent
        steps = chains * lab.sizes.waves * LINKS
        if crew.begun != steps + WARM * LINKS:
            raise Stuck(f"{base.system.name}: {steps} steps, {crew.begun} bodies")
    return steps / took, spent / steps * 1000


async def through(crew: Crew, chains: int) -> None:
    """Until so many chains have ended."""
    await crew.reached(chains * LINKS)
    await crew.all_done()


async def alone(lab: Lab, system: System) -> Sample:
    """One chain after another, each for an idle worker."""
    base = await lab.base(system)
    found: dict[str, float] = {}
    for kind in system.chains:
        await base.empty()
        await base.settle()
        waits, ends = await one_by_one(lab, base, kind)
        cuts = quantiles(waits, n=100, method="inclusive")
        prefix = "" if kind == system.chains[0] else f"{kind}_"
        found[f"{prefix}p50"] = median(waits)
        found[f"{prefix}p99"] = cuts[98]
        found[f"{prefix}end"] = median(ends)
    return found


async def one_by_one(lab: Lab, base: Base, kind: str) -> tuple[list[float], list[float]]:
    """Milliseconds of each chain until its last step began, and until it had ended."""
    waits: list[float] = []
    ends: list[float] = []
    async with Crew(base, lab.folder) as crew, base.producer() as producer:
        crew.go()
        for number in range(1, lab.sizes.alone + WARM + 1):
            await asyncio.sleep(random.uniform(*PAUSE))
            sent = time.monotonic_ns()
            await producer.start_chains(kind, 1, sent)
            await through(crew, number)
            ends.append((time.monotonic_ns() - sent) / 1e6)
            waits.append(crew.tallies[0].wait_of(number * LINKS - 1))
    return waits[WARM:], ends[WARM:]


def chained(system: System) -> bool:
    """Whether a system has chains."""
    return bool(system.chains)


MANY = Measure(
    name="chains",
    title="Chains of ten steps, many at once (200 at full size), one worker process",
    take=many,
    figures=(
        Figure("rate", "steps/s"),
        Figure("cpu", "CPU ms/step", 3),
        Figure("body_rate", "ctx.step/s"),
        Figure("body_cpu", "CPU ms/ctx.step", 3),
    ),
    targets=(
        Target("at least 3,000 graph steps/s", own("rate"), 3000),
        Target("at least 4,000 ctx.step/s", own("body_rate"), 4000),
    ),
    measures=chained,
)
ALONE = Measure(
    name="chain",
    title="One chain of ten steps alone, from the call to the function of its last step",
    take=alone,
    figures=(
        Figure("p50", "median ms", 1),
        Figure("p99", "99th ms", 1),
        Figure("end", "ended ms", 1),
        Figure("body_p50", "ctx.step median ms", 1),
        Figure("body_p99", "ctx.step 99th ms", 1),
        Figure("body_end", "ctx.step ended ms", 1),
    ),
    targets=(
        Target("a chain of graph steps under 20 ms", own("p50"), 20, most=True),
        Target("a chain of ctx.step under 20 ms", own("body_p50"), 20, most=True),
    ),
    measures=chained,
    smaller_is_better=True,
)
