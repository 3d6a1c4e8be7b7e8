"""Large graphs: wide, layered, deep, fanned out; and whether steps of a large one are dear."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from bench import proc
from bench.crew import Crew, Stuck
from bench.lab import Lab
from bench.plan import OURS, Figure, Measure, Sample, Target, own
from bench.systems.base import System
from bench.systems.koken_graphs import SYSTEM

SMALL = 100
"""Steps of the small graph that a large one is compared with."""
STANDING = "select count(*) from koken.run where state = 'succeeded'"


async def graph(lab: Lab, kind: str, size: int, *, runs: int = 1, extra: int = 0) -> Sample:
    """Run a graph of ``size`` bodies: from the call that starts it until nothing is left of it.

    ``extra``: steps beside these that have no counted body.
    """
    base = await lab.base(SYSTEM, f"{kind}_{size}")
    await base.empty()
    await base.settle()
    bodies = size * runs
    async with Crew(base, lab.folder) as crew, base.producer() as producer:
        crew.go()
        await producer.start_many(1)
        await crew.reached(1)
        await crew.all_done()
        worker = crew.workers[0].pid
        memory = proc.peak(worker)
        cpu = crew.cpu(), lab.cpu()
        began = time.perf_counter()
        for _ in range(runs):
            await producer.start(0)
        started = time.perf_counter()
        await crew.reached(1 + bodies, look=0.005)
        await crew.all_done()
        took = time.perf_counter() - began
        spent = crew.cpu() - cpu[0], lab.cpu() - cpu[1]
        peak = proc.peak(worker)
    found = crew.begun - 1, await base.connection.fetchval(STANDING) - 1
    if found != (bodies, bodies + runs * (1 + extra)):
        raise Stuck(f"{runs} × {kind} {size}: {found[0]} bodies, {found[1]} runs succeeded")
    return {
        "seconds": took,
        "rate": bodies / took,
        "start": (started - began) * 1000,
        "worker_cpu": spent[0] / bodies * 1000,
        "server_cpu": spent[1] / bodies * 1000,
        "peak": peak,
        "grown": peak - memory,
    }


def of_steps(kind: str) -> Callable[[Lab, System], Awaitable[Sample]]:
    """A graph of this kind, as large as the bench's sizes say."""

    async def take(lab: Lab, system: System) -> Sample:
        return await graph(lab, kind, lab.sizes.steps)

    return take


async def fan_out(lab: Lab, system: System) -> Sample:
    """One step, spread over many items; the list and the step itself are two more runs."""
    return await graph(lab, "each", lab.sizes.items, extra=2)


async def scale(lab: Lab, system: System) -> Sample:
    """As many steps in one graph and in graphs of a hundred, one right after the other."""
    size = lab.sizes.steps
    small = await graph(lab, "wide", SMALL, runs=size // SMALL)
    large = await graph(lab, "wide", size)
    costs = [one["worker_cpu"] + one["server_cpu"] for one in (large, small)]
    return {
        "ratio": costs[0] / costs[1],
        "large": costs[0],
        "small": costs[1],
        "seconds_large": large["seconds"],
        "seconds_small": small["seconds"],
    }


def ours(system: System) -> bool:
    """Whether a system is Koken."""
    return system.name == OURS


FIGURES = (
    Figure("seconds", "s", 2),
    Figure("rate", "steps/s"),
    Figure("start", "start call ms", 1),
    Figure("worker_cpu", "worker CPU ms/step", 3),
    Figure("server_cpu", "server CPU ms/step", 3),
    Figure("peak", "worker peak MB", 1),
    Figure("grown", "of that grown MB", 1),
)
IN_TIME = Target("started and done within 3 s", own("seconds"), 3, most=True)

WIDE = Measure(
    name="graph-wide",
    title="A graph of steps that need nothing (10,000 at full size), start included",
    take=of_steps("wide"),
    figures=FIGURES,
    targets=(IN_TIME,),
    measures=ours,
    smaller_is_better=True,
)
LAYERED = Measure(
    name="graph-layered",
    title="A graph of layers (100 × 100 at full size), each step after the whole layer before it",
    take=of_steps("layered"),
    figures=FIGURES,
    targets=(IN_TIME,),
    measures=ours,
    smaller_is_better=True,
)
DEEP = Measure(
    name="graph-deep",
    title="A chain of steps (10,000 at full size)",
    take=of_steps("deep"),
    figures=FIGURES,
    measures=ours,
    rounds=1,
    smaller_is_better=True,
)
FAN_OUT = Measure(
    name="fan-out",
    title="One step, spread over the items of a list (100,000 at full size), 500 at once",
    take=fan_out,
    figures=FIGURES,
    measures=ours,
    rounds=1,
    smaller_is_better=True,
)
SCALE = Measure(
    name="graph-scale",
    title="Cost of a step in one large graph ÷ in graphs of 100 steps",
    take=scale,
    figures=(
        Figure("ratio", "large ÷ small", 2),
        Figure("large", "CPU ms/step large", 3),
        Figure("small", "CPU ms/step small", 3),
        Figure("seconds_large", "s large", 2),
        Figure("seconds_small", "s small", 2),
    ),
    targets=(Target("at most 1.2 times as dear", own("ratio"), 1.2, most=True),),
    measures=ours,
    smaller_is_better=True,
)
