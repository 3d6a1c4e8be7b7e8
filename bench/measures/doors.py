"""The doors: requests a second that one process of the console answers, and what watching costs."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AsyncExitStack

from bench.asker import HOST, Line, console, rate, start_of
from bench.lab import Base, Lab
from bench.plan import OURS, Figure, Measure, Sample, Target, own
from bench.systems.base import System
from koken import AsyncClient, Job

AT_ONCE = 32
VIEWERS = 100
WATCHED = 10.0
"""Seconds in which nothing happens."""


async def direct(base: Base, count: int) -> float:
    """Starts a second by a client without HTTP, as many at once."""
    numbers = iter(range(count))
    async with AsyncClient(base.url) as client:

        async def start() -> None:
            for _ in numbers:
                await client.start(Job("empty"))

        began = time.perf_counter()
        await asyncio.gather(*(start() for _ in range(AT_ONCE)))
        return count / (time.perf_counter() - began)


async def http(lab: Lab, system: System) -> Sample:
    """Starts and reads of runs."""
    base = await lab.base(system)
    await base.empty()
    count = lab.sizes.requests
    async with console(base.url, lab.folder) as port:
        body = start_of("empty")
        await rate(port, 100, AT_ONCE, lambda _: ("POST", "/api/v1/runs", body), 201)
        started, answers = await rate(
            port, count, AT_ONCE, lambda _: ("POST", "/api/v1/runs", body), 201
        )
        ids = [json.loads(each)["id"] for each in answers]
        read, _ = await rate(
            port, count, AT_ONCE, lambda n: ("GET", f"/api/v1/runs/{ids[n]}", b""), 200
        )
    return {"starts": started, "reads": read, "direct": await direct(base, count)}


async def watched(lab: Lab, base: Base, port: int, viewers: int) -> float:
    """Statements a second while so many watch one run and nothing happens."""
    async with AsyncExitStack() as stack:
        async with AsyncClient(base.url) as client:
            run = await client.start(Job("empty"))
        for _ in range(viewers):
            line = Line(port)
            await line.open()
            stack.callback(line.close)
            path = f"/live?topic=run:{run.id}"
            line.writer.write(f"GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\n\r\n".encode())
            head = await line.reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
        await asyncio.sleep(2)
        before = await lab.calls(base)
        await asyncio.sleep(WATCHED)
        return (await lab.calls(base) - before) / WATCHED


async def live(lab: Lab, system: System) -> Sample:
    """What one viewer costs the database, and a hundred."""
    base = await lab.base(system)
    await base.empty()
    async with console(base.url, lab.folder) as port:
        one = await watched(lab, base, port, 1)
        many = await watched(lab, base, port, VIEWERS)
    return {"one": one, "many": many, "more": (many - one) / (VIEWERS - 1)}


HTTP = Measure(
    name="http",
    title=f"Requests to one console process, {AT_ONCE} at once",
    take=http,
    figures=(
        Figure("starts", "starts/s"),
        Figure("reads", "reads/s"),
        Figure("direct", "starts/s without HTTP"),
    ),
    targets=(
        Target("over 1,000 starts/s", own("starts"), 1_000),
        Target("over 1,000 reads/s", own("reads"), 1_000),
    ),
    measures=lambda system: system.name == OURS,
)
LIVE = Measure(
    name="live",
    title="Watching a run while nothing happens",
    take=live,
    figures=(
        Figure("more", "statements/s a further viewer", 3),
        Figure("one", "statements/s, 1 viewer", 2),
        Figure("many", f"statements/s, {VIEWERS} viewers", 2),
    ),
    targets=(Target("no statement for a further viewer", own("more"), 0.005, most=True),),
    measures=lambda system: system.name == OURS,
    rounds=1,
    smaller_is_better=True,
)
