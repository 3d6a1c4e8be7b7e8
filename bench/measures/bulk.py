"""Starts: in bulk, 1,000 jobs a call, and one by one, each durable before the next."""

from __future__ import annotations

import time

from bench.lab import Lab
from bench.plan import Figure, Measure, Sample, Target, against, own
from bench.systems.base import BATCH, System


async def bulk(lab: Lab, system: System) -> Sample:
    """Rows a second in bulk, no worker beside."""
    base = await lab.base(system)
    await base.empty()
    calls = max(1, int(lab.sizes.bulk * system.share) // BATCH)
    async with base.producer() as producer:
        await producer.start_many(1)
        began = time.perf_counter()
        cpu = time.process_time(), lab.cpu()
        for _ in range(calls):
            await producer.start_many(BATCH)
        took = time.perf_counter() - began
        spent = time.process_time() - cpu[0], lab.cpu() - cpu[1]
    rows = calls * BATCH
    return {
        "rate": rows / took,
        "client_cpu": spent[0] / rows * 1000,
        "server_cpu": spent[1] / rows * 1000,
    }


async def single(lab: Lab, system: System) -> Sample:
    """Starts a second, one after another on one connection."""
    base = await lab.base(system)
    await base.empty()
    count = lab.sizes.singles
    async with base.producer() as producer:
        for _ in range(10):
            await producer.start(1)
        calls = await lab.calls(base)
        began = time.perf_counter()
        for _ in range(count):
            await producer.start(1)
        took = time.perf_counter() - began
    return {
        "rate": count / took,
        "took": took / count * 1000,
        "statements": (await lab.calls(base) - calls) / count,
    }


BULK = Measure(
    name="bulk",
    title="Bulk start, 1,000 jobs a call",
    take=bulk,
    figures=(
        Figure("rate", "rows/s"),
        Figure("client_cpu", "client CPU ms/row", 4),
        Figure("server_cpu", "server CPU ms/row", 4),
    ),
    targets=(
        Target("bulk start at least 60,000 rows/s", own("rate"), 60_000),
        Target("bulk start at least 1.5 × pgqueuer", against("pgqueuer", "rate"), 1.5),
    ),
)
SINGLE = Measure(
    name="single",
    title="Single starts, one after another",
    take=single,
    figures=(
        Figure("rate", "starts/s"),
        Figure("took", "ms/start", 2),
        Figure("statements", "statements/start", 1),
    ),
)
