"""Repairs by several people at random moments, while workers go on: every run can still be brought
to its end, and nothing is left over."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

import koken
from koken import App, AsyncClient
from koken.config import load
from koken.errors import InvalidArguments, NotFound, Refused
from koken.runtime.worker import Worker

VERBS = ("retry", "retry", "from", "item", "skip", "resolve", "step", "fork", "cancel")
STEPS = ("first", "second", "items", "other", "last", "items[1]")


class Fate:
    """What bodies do."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.share = 0.3

    def says(self, name: str) -> int:
        """1, or now and then an error."""
        if self.dice.random() < self.share:
            raise OSError(name)
        return 1


def program(url: str, fate: Fate) -> tuple[App, koken.Workflow[[]]]:
    """A workflow with items, another workflow in it, an undo and a lock."""
    app = App("random", database_url=url)

    @app.workflow
    def inner() -> None: ...

    @inner.step
    def one() -> int:
        return fate.says("one")

    @inner.step
    def two(one: int) -> int:
        return fate.says("two")

    @app.workflow
    def flow() -> None: ...

    @flow.step
    def first() -> int:
        return fate.says("first")

    @first.compensate
    def undo() -> None:
        fate.says("undo")

    @flow.step
    def second() -> list[int]:
        return list(range(4 * fate.says("second")))

    @flow.step(each={"n": second}, at_once=2)
    def items(n: int) -> int:
        return fate.says("items")

    flow.step(inner, name="other", after=["first"])

    @flow.step(join="all_done", after=["items", "other"], lock="one")
    def last() -> int:
        return fate.says("last")

    return app, flow


@pytest.mark.parametrize("seed", [1, 2])
async def test_any_repair_at_any_moment(database_url: str, seed: int) -> None:
    fate = Fate(seed)
    app, flow = program(database_url, fate)
    config = load({"database_url": database_url, "worker": {"queues": ["default:4"]}})
    workers = [Worker(app, config, name=f"w-{n}") for n in (1, 2)]
    for worker in workers:
        await worker.start()
    async with AsyncClient(app, by="anna") as client:
        runs = [await client.start(flow) for _ in range(3)]
        await asyncio.gather(*(pester(client, runs, fate.dice, 60) for _ in range(3)))
        fate.share = 0.0
        for run in runs:
            while (ended := await client.wait(run, timeout="30s")).state != "succeeded":
                await client.retry(ended)
        async with client.link.db.session() as session:
            left = await session.fetch_text(
                "select r.id from koken.run r join koken.run p on p.id = r.parent_id"
                " where r.finished_at is null and p.finished_at is null"
                " union all select run_id from koken.hold"
            )
    for worker in workers:
        await worker.stop()
    assert left == []


async def pester(client: AsyncClient, runs: list[Any], dice: random.Random, times: int) -> None:
    """Give repairs at random; each is carried out or refused."""
    for _ in range(times):
        run, step = dice.choice(runs), dice.choice(STEPS)
        try:
            await act(client, run, dice.choice(VERBS), step, dice)
        except (InvalidArguments, NotFound, Refused):
            await asyncio.sleep(0)


async def act(client: AsyncClient, run: Any, verb: str, step: str, dice: random.Random) -> None:
    """One repair."""
    match verb:
        case "retry":
            await client.retry(run)
        case "from":
            await client.retry(run, from_step=step)
        case "item":
            await client.retry(run, from_step="items[2]")
        case "skip":
            await client.skip(run, step)
        case "resolve":
            if step in ("items", "other"):
                await client.resolve(run, step)
            else:
                await client.resolve(run, step, result=[1] if step == "second" else 1)
        case "step":
            rows = {row.name: row.run_id for row in await client.steps(run)}
            await client.retry(rows.get(step) or run)
        case "fork":
            await client.plan("fork", run, from_step=step)
        case _:
            if dice.random() < 0.2:
                await client.cancel(run)
