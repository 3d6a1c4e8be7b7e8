"""Random graphs through the engine: what it makes of them is what stands on paper."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import koken
from koken.config import load
from koken.engine.claim import Claimed
from koken.model.run import Run
from koken.model.states import State
from koken.runtime.worker import Worker
from koken.store.database import Row, Transaction
from koken.testing import TestClient
from tests.support import invariants
from tests.support.paper import (
    Flow,
    bodies,
    end_of,
    ends,
    every_pair,
    flows,
    legal,
    random_flow,
)
from tests.support.staged import Show, arguments, check_order, stage, standing

KILLS = 3
"""Workers that vanish under one workflow, at most: no step loses more than it may."""
EXAMPLES = settings(
    deadline=None,
    derandomize=True,
    phases=[
        Phase.explicit,
        Phase.generate,
    ],  # a smaller example costs minutes: ask for Phase.shrink
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(autouse=True)
def same_server(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The databases are made on the server of the session."""
    monkeypatch.setenv("KOKEN_TEST_DATABASE_URL", postgres_url)


def stood(client: TestClient, run: Run[Any], flow: Flow) -> dict[str, State]:
    """The states of the steps of a run that has ended."""
    return client.portal.call("standing", standing(client.awaiting.link.db, run.id, flow))


def as_on_paper(flow: Flow, state: str, states: Mapping[str, str], show: Show) -> None:
    """The run and its steps stand as they must, and none ran before its time."""
    assert states == ends(flow)
    assert state == end_of(ends(flow))
    check_order(flow, show)


def carried_out_once(flow: Flow, show: Show) -> None:
    """Each attempt of each body began once, where no worker was lost."""
    states = ends(flow)
    for name, count in bodies(flow).items():
        begun = show.begun(name)
        failed_by_items = flow.named[name].items is not None and states[name] is State.FAILED
        assert begun <= count if failed_by_items else begun == count, name


@given(flow=flows(), seed=st.integers(0, 2**16))
@settings(EXAMPLES, max_examples=40)
def test_every_graph_ends_as_on_paper(flow: Flow, seed: int) -> None:
    app, show = koken.App("paper"), Show()
    made = stage(app, flow, show, dice=random.Random(seed))
    with TestClient(app) as client:
        run = client.fast_forward(client.start(made, **arguments(flow)))
        as_on_paper(flow, run.state, stood(client, run, flow), show)
        invariants.check(client)
    carried_out_once(flow, show)


@given(flow=flows(), seed=st.integers(0, 2**16))
@settings(EXAMPLES, max_examples=25)
def test_a_workflow_that_fails_fast_ends_as_any_other(flow: Flow, seed: int) -> None:
    app, show = koken.App("paper"), Show()
    made = stage(app, flow, show, dice=random.Random(seed), fail_fast=True)
    with TestClient(app) as client:
        run = client.fast_forward(client.start(made, **arguments(flow)))
        states = stood(client, run, flow)
        assert client.advance("1h") == []
        invariants.check(client)
    assert run.state == end_of(ends(flow))
    allowed = legal(flow, fail_fast=True)
    assert {name: state for name, state in states.items() if state not in allowed[name]} == {}
    assert {*states} == {*allowed}


@given(flow=flows(12), seed=st.integers(0, 2**16))
@settings(EXAMPLES, max_examples=25)
def test_workers_that_vanish_change_nothing(flow: Flow, seed: int) -> None:
    """At random moments: in bodies, and between a claim and what follows it."""
    app, show, dice = koken.App("paper"), Show(), random.Random(seed)
    kills = 0

    def chance() -> None:
        nonlocal kills
        if kills < KILLS and dice.random() < 0.15:
            kills += 1
            client.kill_worker()

    made = stage(app, flow, show, chance=chance, dice=dice)
    with TestClient(app) as client:
        worker = client.stage.worker
        take = worker.take

        async def take_or_vanish() -> Claimed | None:
            run = await take()
            if run is not None:
                before = kills
                chance()
                if kills > before:
                    return None
            return run

        worker.take = take_or_vanish  # type: ignore[method-assign]
        run = client.fast_forward(client.start(made, **arguments(flow)))
        as_on_paper(flow, run.state, stood(client, run, flow), show)
        invariants.check(client)


async def test_every_rule_after_every_pair_of_ends(database_url: str) -> None:
    await at_once(every_pair(), random.Random(0), database_url)


@pytest.mark.parametrize("seed", range(12))
async def test_many_bodies_at_once_change_nothing(seed: int, database_url: str) -> None:
    """Bodies overlap, and answers of many steps are written together."""
    dice = random.Random(seed)
    await at_once(random_flow(dice), dice, database_url)


async def broken(tx: Transaction) -> list[Row]:
    """What stands as it may not."""
    return await tx.fetch_text(invariants.BROKEN)


async def at_once(flow: Flow, dice: random.Random, database_url: str) -> None:
    """Carry a workflow out with a real worker, and see that it is as on paper."""
    show = Show()
    app = koken.App("paper", database_url=database_url)
    made = stage(app, flow, show, dice=dice, is_async=True)
    worker = Worker(app, load({**app.settings, "worker": {"queues": {"default": 8}}}))
    async with koken.AsyncClient(app) as client:
        await worker.start()
        run = await client.wait(await client.start(made, **arguments(flow)), timeout="60s")
        states = await standing(client.link.db, run.id, flow)
        invariants.assert_sound(await client.link.db.run(broken))
        await worker.stop()
    as_on_paper(flow, run.state, states, show)
    carried_out_once(flow, show)
