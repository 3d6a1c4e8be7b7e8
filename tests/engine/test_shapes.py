"""Workflows as they are in life: the shapes that WfCommons has published, with empty bodies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

import koken
from koken.config import load
from koken.runtime.worker import Worker
from tests.support.shapes import NAMES, Shape

STATES = "select state from koken.run where parent_id = $1"


def test_the_shapes_are_there() -> None:
    assert {name: len(Shape.load(name).needs) for name in NAMES} == {
        "blast": 303,
        "bwa": 1004,
        "cycles": 3273,
        "epigenomics": 41,
        "epigenomics-large": 1695,
        "genome": 902,
        "montage": 58,
        "montage-large": 2122,
        "seismology": 1101,
        "soykb": 676,
        "srasearch": 22,
    }


def body_of(step: str, begun: list[str]) -> Callable[[], Awaitable[None]]:
    """A body that tells that it has begun, and returns at once."""

    async def body() -> None:
        begun.append(step)

    return body


@pytest.mark.parametrize("name", NAMES)
async def test_every_step_runs_once_after_its_needs(name: str, database_url: str) -> None:
    shape = Shape.load(name)
    begun: list[str] = []
    app = koken.App("shapes", database_url=database_url)
    made = app.workflow("shape")
    for step, needs in shape.needs.items():
        made.step(body_of(step, begun), name=step, after=needs)
    worker = Worker(app, load({**app.settings, "worker": {"queues": {"default": 200}}}))
    async with koken.AsyncClient(app) as client:
        await worker.start()
        run = await client.wait(await client.start(made), timeout="90s")
        rows = await client.link.db.run(lambda tx: tx.fetch_text(STATES, run.id))
        await worker.stop()
    assert run.state == "succeeded"
    assert Counter(row["state"] for row in rows) == {"succeeded": len(shape.needs)}
    at = {step: number for number, step in enumerate(begun)}
    assert len(begun) == len(at) == len(shape.needs)
    early = [
        (step, need) for step, needs in shape.needs.items() for need in needs if at[need] > at[step]
    ]
    assert early == []
