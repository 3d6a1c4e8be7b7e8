"""Neighbour: claims under load beside somebody's transaction that stays open.

An open transaction keeps PostgreSQL from removing dead entries of its indexes, so a claim that
reads from the bottom of one gets slower with every job that went before it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import asyncpg

from bench.crew import Crew
from bench.lab import Base, Lab
from bench.plan import Figure, Measure, Sample, Target, own
from bench.systems.base import System

BEATS = 10
"""Bulk starts a second."""
WINDOWS = 6
"""Stretches of equal length; the first and the last are compared."""


async def load(base: Base, jobs_a_second: int, seconds: float) -> None:
    """Start jobs at a steady rate."""
    began = time.monotonic()
    async with base.producer() as producer:
        for number in range(int(seconds * BEATS)):
            await asyncio.sleep(max(0.0, began + number / BEATS - time.monotonic()))
            await producer.start_many(max(1, jobs_a_second // BEATS))


async def windows(lab: Lab, base: Base) -> list[dict[str, Mapping[str, float]]]:
    """What the watched statements have cost at the border of each window."""
    found = []
    for number in range(WINDOWS + 1):
        if number:
            await asyncio.sleep(lab.sizes.neighbour / WINDOWS)
        costs = {}
        for label, pattern in base.system.statements.items():
            costs[label] = await lab.cost(base, pattern)
        found.append(costs)
    return found


async def take(lab: Lab, system: System) -> Sample:
    """A worker under load, and beside it a transaction that began before and ends after."""
    base = await lab.base(system, "neighbour")
    await base.empty()
    await base.settle()
    rate = int(lab.sizes.load * system.share)
    neighbour = await asyncpg.connect(base.url)
    try:
        async with Crew(base, lab.folder) as crew:
            crew.go()
            await neighbour.execute("begin isolation level repeatable read; select txid_current()")
            loading = asyncio.ensure_future(load(base, rate, lab.sizes.neighbour))
            costs = await windows(lab, base)
            behind = int(lab.sizes.neighbour * BEATS) * (rate // BEATS) - crew.begun
            await loading
    finally:
        await neighbour.close()
    return told(costs) | {"behind": float(max(0, behind))}


def told(costs: list[dict[str, Mapping[str, float]]]) -> dict[str, float]:
    """Milliseconds of a claim in the first and in the last window, and of the other statements."""
    first, last = (costs[0], costs[1]), (costs[-2], costs[-1])
    found: dict[str, float] = {}
    for label in costs[0]:
        for when, (begin, end) in (("first", first), ("last", last)):
            calls = end[label]["calls"] - begin[label]["calls"]
            took = end[label]["took"] - begin[label]["took"]
            if calls:
                found[f"{label}_{when}"] = took / calls
    if found.get("claim_first") and "claim_last" in found:
        found["ratio"] = found["claim_last"] / found["claim_first"]
    return found


NEIGHBOUR = Measure(
    name="neighbour",
    title="Neighbour: claims under load beside an open transaction",
    take=take,
    figures=(
        Figure("ratio", "last ÷ first", 2),
        Figure("claim_first", "claim ms first", 2),
        Figure("claim_last", "claim ms last", 2),
        Figure("bottom_first", "from bottom ms first", 2),
        Figure("bottom_last", "from bottom ms last", 2),
        Figure("finish_first", "finish ms first", 2),
        Figure("finish_last", "finish ms last", 2),
        Figure("behind", "jobs behind"),
    ),
    targets=(Target("claims at most 1.5 × as long at the end", own("ratio"), 1.5, most=True),),
    measures=lambda system: system.name in ("koken", "raw", "pgqueuer"),
    rounds=1,
    smaller_is_better=True,
)
