"""Repair below and above durable functions: what a body waits for, and what it failed for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import koken
from koken import AsyncContext
from koken.errors import Refused
from koken.model.run import Run
from koken.testing import TestClient

app = koken.App("bodies")
BEGUN: list[str] = []


@app.job(effect="idempotent")
def load(day: str = "monday") -> str:
    BEGUN.append("load")
    return f"loaded {day}"


@app.job
def slow() -> str:
    return "at last"


@app.job
async def besides(ctx: AsyncContext) -> str:
    """Starts one that nobody waits for, and waits for another."""
    BEGUN.append("besides")
    await ctx.start(load, day="friday")
    return await ctx.step("slow", slow)


@app.job(effect="pure")
async def through(ctx: AsyncContext) -> str:
    """Goes by what becomes of another."""
    BEGUN.append("through")
    return await ctx.step("kid", load, day="sunday")


def paid() -> str:
    return "paid"


@app.job(effect="unsafe")
async def pay(ctx: AsyncContext) -> str:
    """Two payments, and then a mistake."""
    for name in ("first", "second"):
        await ctx.step(name, paid)
    raise ValueError("no receipt")


@app.workflow
def week() -> None:
    """With a durable step."""


@week.step(effect="unsafe")
async def weekend(ctx: AsyncContext) -> str:
    BEGUN.append("weekend")
    return await ctx.step("kid", load, day="sunday")


@week.step
def after(weekend: str) -> str:
    return weekend.upper()


@pytest.fixture
def client() -> Iterator[TestClient]:
    BEGUN.clear()
    with TestClient(app, by="anna") as made:
        yield made


def later(client: TestClient, job: Any, length: str) -> None:
    """Have the next attempt at a job put off."""

    def body(**_: Any) -> None:
        raise koken.Snooze(length)

    client.replacing(job, body, times=1)


def kids(client: TestClient, run: Run[Any] | int, job: str) -> list[int]:
    """The runs of a job that a run has started."""
    run_id = run.id if isinstance(run, Run) else run
    with psycopg.connect(client.database_url) as connection:
        rows = connection.execute(
            "select r.id from koken.run r join koken.job j on j.id = r.job_id"
            " where r.parent_id = %s and j.name = %s order by r.id",
            (run_id, job),
        ).fetchall()
    return [row[0] for row in rows]


def open_children(client: TestClient, run: Run[Any]) -> int:
    """How many children a run counts as open."""
    with psycopg.connect(client.database_url) as connection:
        (row,) = connection.execute(
            "select open_children from koken.run where id = %s", (run.id,)
        ).fetchall()
    return int(row[0])


def test_a_body_wakes_for_its_own_though_another_goes_again(client: TestClient) -> None:
    client.failing(load, OSError("no file"), times=1)
    later(client, slow, "1h")
    run = client.start(besides)
    client.drain()
    assert client.get(run).state == "waiting"
    (kid,) = kids(client, run, "load")
    assert client.get(kid).state == "failed"
    later(client, load, "2d")
    client.retry(kid)
    client.drain()
    assert open_children(client, run) == 2
    client.advance("2h")
    mine = client.get(run)
    assert mine.settle == "succeeded"
    run = client.fast_forward(run)
    assert (run.state, run.result, run.attempt) == ("succeeded", "at last", 1)
    assert open_children(client, run) == 0


def test_a_run_and_its_child_retried_one_after_the_other_count_right(client: TestClient) -> None:
    client.failing(load, OSError("no file"))
    client.failing(slow, OSError("nor that"))
    run = client.fast_forward(client.start(besides))
    assert (run.state, open_children(client, run)) == ("failed", 0)
    (kid,) = kids(client, run, "load")
    client.retry(kid)
    assert open_children(client, run) == 1
    client.retry(run)
    assert open_children(client, run) == 1
    run = client.fast_forward(run)
    assert (run.state, open_children(client, run)) == ("succeeded", 0)


def test_a_body_that_failed_for_its_child_goes_on_with_it(client: TestClient) -> None:
    client.failing(load, OSError("no file"))
    run = client.fast_forward(client.start(through))
    assert run.state == "failed"
    (kid,) = kids(client, run, "load")
    plan = client.plan("retry", kid)
    assert [(each.step, each.effect) for each in plan.again] == [
        ("load", "idempotent"), (f"{run.id}/through", "pure")
    ]  # fmt: skip
    BEGUN.clear()
    client.retry(kid)
    run = client.fast_forward(run)
    assert (run.state, run.result) == ("succeeded", "loaded sunday")
    assert BEGUN == ["through", "load", "through"]
    assert kids(client, run, "load") == [kid]


def test_a_durable_step_that_failed_for_its_child_goes_on_with_it(client: TestClient) -> None:
    client.failing(load, OSError("no file"))
    run = client.fast_forward(client.start(week))
    assert run.state == "failed"
    step = next(row.run_id for row in client.steps(run) if row.name == "weekend")
    assert step is not None
    (kid,) = kids(client, step, "load")
    with pytest.raises(Refused, match=f"retry repeats {run.id}/weekend, which is unsafe"):
        client.retry(kid)
    BEGUN.clear()
    client.retry(kid, reason="looked", force=True)
    run = client.fast_forward(run)
    assert (run.state, run.result, kids(client, step, "load")) == (
        "succeeded", "LOADED SUNDAY", [kid]
    )  # fmt: skip
    assert client.get(step).attempt == 1


def test_a_child_that_was_started_anew_goes_again_alone(client: TestClient) -> None:
    client.failing(load, OSError("no file"))
    run = client.fast_forward(client.start(through))
    client.failing(load, OSError("no file"))
    client.retry(run)
    run = client.fast_forward(run)
    first, second = kids(client, run, "load")
    client.retry(first)
    assert client.fast_forward(first).state == "succeeded"
    assert (client.get(run).state, client.get(second).state) == ("failed", "failed")


def test_recorded_steps_of_an_unsafe_body_are_repeated_with_force_only(client: TestClient) -> None:
    run = client.run(pay)
    plan = client.plan("retry", run, from_step="second")
    assert (plan.keeps, plan.may_repeat, plan.needs_force) == (("first",), ("second",), True)
    with pytest.raises(Refused, match="retry repeats second, which is unsafe; --force"):
        client.retry(run, from_step="second")
    again = client.retry(run, from_step="second", force=True, reason="the bank lost it")
    assert again.state == "ready"
