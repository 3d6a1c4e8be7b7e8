"""Repair reaches down to what failed and up to what waits: items, jobs as steps, workflows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import koken
from koken import AsyncContext
from koken.errors import Refused
from koken.model.run import Run
from koken.store.database import Transaction
from koken.store.statements import Statement
from koken.testing import TestClient

app = koken.App("nested")
BEGUN: list[str] = []


@app.job(effect="idempotent")
def load(day: str = "monday") -> str:
    BEGUN.append("load")
    return f"loaded {day}"


@app.workflow
def inner(day: str = "monday") -> None:
    """A workflow within another."""


@inner.step
def fetch(day: str) -> str:
    BEGUN.append("fetch")
    return day


@inner.step(effect="pure")
def parse(fetch: str) -> int:
    BEGUN.append("parse")
    return len(fetch)


@app.workflow
def outer() -> None:
    """Made of jobs."""


outer.step(load, name="first")
outer.step(inner, name="second", after=["first"])


@outer.step
def last(second: int) -> int:
    BEGUN.append("last")
    return second + 1


@app.workflow
def many() -> None:
    """A job for each item."""


@many.step
def days() -> list[str]:
    return ["monday", "tuesday"]


many.step(inner, name="each", each={"day": days})


@many.step
def count(each: list[int]) -> int:
    BEGUN.append("count")
    return sum(each)


@app.workflow
def listed() -> None:
    """Items that fail."""


@listed.step
def names() -> list[str]:
    return ["a", "b", "c"]


@listed.step(each={"name": names})
def greet(name: str) -> str:
    BEGUN.append(name)
    if name in BROKEN:
        raise OSError(name)
    if name in LATE:
        raise koken.Snooze("1h")
    return name.upper()


@listed.step
def join(greet: list[str]) -> str:
    return "".join(greet)


@app.workflow
def wide() -> None:
    """Many steps that are jobs."""


for number in range(12):
    wide.step(load, name=f"load_{number}")

BROKEN: set[str] = set()
LATE: set[str] = set()


@app.job
async def durable(ctx: AsyncContext) -> str:
    child = await ctx.start(load, day="friday")
    return f"{child.id}"


@pytest.fixture
def client() -> Iterator[TestClient]:
    BEGUN.clear()
    BROKEN.clear()
    LATE.clear()
    with TestClient(app, by="anna") as made:
        yield made


def states(client: TestClient, run: Run[Any] | int) -> dict[str, str]:
    """Each step or item with its state."""
    return {row.name: row.state.value if row.state else "none" for row in client.steps(run)}


def only_child(client: TestClient, step: int | None) -> int:
    """The run that a step has started, the only one."""
    (row,) = client.portal.call(
        "test",
        client.stage.clock.ask(f"select id from koken.run where parent_id = {step}"),
    )
    return int(row["id"])


def step_run(client: TestClient, run: Run[Any] | int, name: str) -> int:
    found = {row.name: row.run_id for row in client.steps(run)}[name]
    assert found is not None
    return found


def test_only_the_failed_items_go_again(client: TestClient) -> None:
    BROKEN.update("ac")
    run = client.fast_forward(client.start(listed))
    assert (run.state, BEGUN) == ("failed", ["a", "b", "c"])
    BROKEN.clear()
    BEGUN.clear()
    plan = client.plan("retry", run)
    assert [(each.step, each.items) for each in plan.again] == [("greet", 2)]
    client.retry(run)
    run = client.fast_forward(run)
    assert (run.state, run.result, BEGUN) == ("succeeded", "ABC", ["a", "c"])


def test_one_item_goes_again_alone(client: TestClient) -> None:
    BROKEN.update("ac")
    run = client.fast_forward(client.start(listed))
    BROKEN.clear()
    BEGUN.clear()
    client.retry(run, from_step="greet[2]", reason="c only")
    run = client.fast_forward(run)
    assert (run.state, BEGUN) == ("failed", ["c"])
    assert states(client, step_run(client, run, "greet")) == {
        "greet[0]": "failed", "greet[1]": "succeeded", "greet[2]": "succeeded"
    }  # fmt: skip
    client.skip(run, "greet[0]")
    run = client.fast_forward(run)
    assert (run.state, run.result) == ("succeeded", "BC")


def test_an_item_that_succeeded_takes_what_follows_with_it(client: TestClient) -> None:
    run = client.fast_forward(client.start(listed))
    BEGUN.clear()
    client.retry(run, from_step="greet[1]")
    run = client.fast_forward(run)
    assert (run.state, run.result, BEGUN) == ("succeeded", "ABC", ["b"])


def test_an_item_goes_again_while_others_go(client: TestClient) -> None:
    BROKEN.add("a")
    LATE.add("b")
    run = client.start(listed)
    client.drain()
    greets = step_run(client, run, "greet")
    assert states(client, greets) == {
        "greet[0]": "failed", "greet[1]": "waiting", "greet[2]": "succeeded"
    }  # fmt: skip
    with pytest.raises(Refused, match="while its workflow goes, only what failed"):
        client.retry(run, from_step="greet[2]")
    BROKEN.clear()
    LATE.clear()
    client.retry(run, from_step="greet[0]")
    client.resolve(run, "greet[1]", result="b by hand")
    run = client.fast_forward(run)
    assert (run.state, run.result, BEGUN) == ("succeeded", "Ab by handC", ["a", "b", "c", "a"])


def test_the_child_of_a_step_goes_again_itself(client: TestClient) -> None:
    client.failing(load, OSError("no file"))
    run = client.fast_forward(client.start(outer))
    assert states(client, run) == {"first": "failed", "second": "blocked", "last": "blocked"}
    child = only_child(client, step_run(client, run, "first"))
    plan = client.plan("retry", run)
    assert [(each.step, each.effect) for each in plan.again] == [("first", "idempotent")]
    assert [(each.step, each.starts) for each in plan.then] == [("second", "inner"), ("last", None)]
    client.retry(run)
    run = client.fast_forward(run)
    assert (run.state, run.result) == ("succeeded", 7)
    assert client.get(child).state == "succeeded"
    assert only_child(client, step_run(client, run, "first")) == child


def test_from_the_child_up_everything_above_goes_on(client: TestClient) -> None:
    client.failing(load, OSError("no file"))
    run = client.fast_forward(client.start(outer))
    child = only_child(client, step_run(client, run, "first"))
    client.retry(child, args={"day": "sunday"})
    run = client.fast_forward(run)
    assert (run.state, run.result) == ("succeeded", 7)
    assert client.get(child).result == "loaded sunday"


def test_a_failed_step_deep_below_goes_again_and_nothing_else(client: TestClient) -> None:
    client.failing(parse, OSError("what?"))
    run = client.fast_forward(client.start(outer))
    assert (run.state, BEGUN) == ("failed", ["load", "fetch"])
    plan = client.plan("retry", run)
    assert [each.step for each in plan.again] == ["second/parse"]
    assert (plan.keeps, plan.may_repeat) == (("first", "second/fetch"), ())
    BEGUN.clear()
    client.retry(run)
    run = client.fast_forward(run)
    assert (run.state, run.result, BEGUN) == ("succeeded", 7, ["parse", "last"])


def test_a_step_deep_below_alone_has_all_above_go_on(client: TestClient) -> None:
    client.failing(parse, OSError("what?"))
    run = client.fast_forward(client.start(outer))
    child = only_child(client, step_run(client, run, "second"))
    BEGUN.clear()
    client.resolve(child, "parse", result=40)
    run = client.fast_forward(run)
    assert (run.state, run.result, BEGUN) == ("succeeded", 41, ["last"])
    BEGUN.clear()
    client.retry(child, from_step="fetch")
    run = client.fast_forward(run)
    assert (run.state, run.result, BEGUN) == ("succeeded", 7, ["fetch", "parse", "last"])


def test_a_step_of_a_job_that_goes_anew_starts_a_new_run(client: TestClient) -> None:
    run = client.fast_forward(client.start(outer))
    first = step_run(client, run, "first")
    old = only_child(client, first)
    BEGUN.clear()
    client.retry(run, from_step="first")
    run = client.fast_forward(run)
    assert (run.state, run.result) == ("succeeded", 7)
    assert BEGUN == ["load", "fetch", "parse", "last"]
    assert len(client.find("job:load")) == 0
    assert client.get(old).state == "succeeded"
    assert client.get(first).attempt == 2


def test_items_that_are_workflows(client: TestClient) -> None:
    client.failing(parse, OSError("what?"), times=1)
    run = client.fast_forward(client.start(many))
    assert run.state == "failed"
    BEGUN.clear()
    plan = client.plan("retry", run)
    assert [each.step for each in plan.again] == ["each[0]/parse", "each"]
    client.retry(run)
    run = client.fast_forward(run)
    assert (run.state, run.result, BEGUN) == ("succeeded", 13, ["parse", "count"])


def test_the_child_of_a_durable_function_goes_again_beside_it(client: TestClient) -> None:
    client.failing(load, OSError("no file"))
    parent = client.fast_forward(client.start(durable))
    child = int(parent.result)
    assert client.get(child).state == "failed"
    client.retry(child)
    assert client.fast_forward(child).state == "succeeded"
    after = client.get(parent)
    assert (after.state, after.children) == (parent.state, parent.children)


def test_a_cancelled_tree_goes_again(client: TestClient) -> None:
    client.replacing(fetch, lambda: (_ for _ in ()).throw(koken.Snooze("1h")), times=1)
    run = client.start(outer)
    client.drain()
    client.cancel(run, reason="wrong day")
    client.drain()
    assert client.get(run).state == "cancelled"
    client.retry(run, reason="right day")
    run = client.fast_forward(run)
    assert (run.state, run.result) == ("succeeded", 7)


def test_what_is_below_is_looked_up_at_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = client.fast_forward(client.start(wide))
    asked: list[str] = []
    fetch = Transaction.fetch

    async def counted(self: Transaction, statement: Statement, *args: Any) -> list[Any]:
        asked.append(statement.name)
        return await fetch(self, statement, *args)

    monkeypatch.setattr(Transaction, "fetch", counted)
    plan = client.plan("rerun", run)
    assert [each.effect for each in plan.again] == ["idempotent"] * 12
    assert asked.count("repair_children") == 1
    assert asked.count("version_specs") <= 3


def test_runs_of_other_jobs_stay_when_their_item_goes_anew(client: TestClient) -> None:
    run = client.fast_forward(client.start(many))
    items = [row.run_id for row in client.steps(step_run(client, run, "each"))]
    old = [only_child(client, item) for item in items]
    client.retry(run, from_step="days")
    run = client.fast_forward(run)
    assert (run.state, run.result) == ("succeeded", 13)
    kept = [client.get(each) for each in old]
    assert [(each.state, each.parent_id, each.root_id) for each in kept] == [
        ("succeeded", None, each) for each in old
    ]
    assert [row.name for row in client.steps(kept[0])] == ["fetch", "parse"]
    fetched = client.get(step_run(client, old[0], "fetch"))
    assert (fetched.parent_id, fetched.root_id) == (old[0], old[0])
    assert {each.id for each in client.find("job:inner")} == set(old)
