"""Workflows of many steps, with a worker as in production."""

from __future__ import annotations

from collections import Counter
from typing import Any

import koken
from koken.config import load
from koken.runtime.worker import Worker

STATES = """
select state, count(*) from koken.run where root_id = $1 and step is not null group by 1
"""


async def carried(app: koken.App, flow: Any, *args: Any) -> tuple[koken.Run[Any], Counter[str]]:
    """A run of a workflow, to its end, and how many of its steps and items stand where."""
    worker = Worker(app, load({**app.settings, "worker": {"queues": {"default": 100}}}))
    async with koken.AsyncClient(app) as client:
        await worker.start()
        run = await client.wait(await client.start(flow, *args), timeout="90s")
        rows = await client.link.db.run(lambda tx: tx.fetch_text(STATES, run.id))
        await worker.stop()
    return run, Counter({row["state"]: row["count"] for row in rows})


async def nothing() -> None:
    """A body."""


async def test_ten_thousand_steps_beside_each_other(database_url: str) -> None:
    app = koken.App("wide", database_url=database_url)
    flow = app.workflow("wide")
    flow.step(nothing, name="first")
    names = [f"step-{n}" for n in range(9_998)]
    for name in names:
        flow.step(nothing, name=name, after=["first"])

    async def last() -> int:
        return 7

    flow.step(last, after=names)
    run, states = await carried(app, flow)
    assert (run.state, run.result, states) == ("succeeded", 7, {"succeeded": 10_000})


async def test_three_hundred_steps_after_each_other(database_url: str) -> None:
    app = koken.App("deep", database_url=database_url)
    flow = app.workflow("deep")

    async def begin() -> int:
        return 1

    async def add(number: int) -> int:
        return number + 1

    flow.step(begin, name="step-1")
    for n in range(2, 301):
        flow.step(add, name=f"step-{n}", inputs={"number": f"step-{n - 1}"})
    run, states = await carried(app, flow)
    assert (run.state, run.result, states) == ("succeeded", 300, {"succeeded": 300})


async def test_ten_thousand_items_of_which_some_fail(database_url: str) -> None:
    app = koken.App("items", database_url=database_url)
    going: set[int] = set()
    most: list[int] = []

    @app.workflow
    def many(total: int) -> None: ...

    @many.step
    async def numbers(total: int) -> list[int]:
        return list(range(total))

    @many.step(each={"number": numbers}, at_once=40, accept=koken.Accept(0.95))
    async def item(number: int) -> int:
        going.add(number)
        most.append(len(going))
        await nothing()
        going.discard(number)
        if number % 100 == 0:
            raise OSError(number)
        return number

    @many.step
    async def count(item: list[int]) -> int:
        return len(item)

    run, states = await carried(app, many, 10_000)
    assert (run.state, run.result) == ("succeeded", 9_900)
    assert states == {"succeeded": 9_903, "skipped": 100}
    assert max(most) <= 40
