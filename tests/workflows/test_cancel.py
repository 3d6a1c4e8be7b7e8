"""A cancel of a workflow, wherever it stands, ends all of it and undoes what was done."""

from __future__ import annotations

from typing import Any

import pytest

import koken
from koken.testing import TestClient
from tests.workflows.acts import act, never
from tests.workflows.conftest import Hire

seen: list[str] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


def program() -> tuple[koken.App, Any]:
    """A step that is undone, then items, one of which waits, then a gate."""
    app = koken.App("cancel")

    @app.workflow
    def flow() -> None: ...

    @flow.step
    def first() -> list[str]:
        seen.append("first")
        return ["x", "y"]

    @first.compensate
    def undo() -> None:
        seen.append("undo first")

    @flow.step(each={"name": first}, at_once=1, max_attempts=2, backoff="1h")
    def item(name: str) -> None:
        seen.append(name)

    flow.step(act("S", "gate", seen), name="gate", after=[item], gate="0 15 * * *")
    flow.step(act("S", "last", seen), name="last", after=["gate"])
    return app, flow


def ended(client: TestClient, run: koken.Run[Any]) -> dict[str, str]:
    """The states after a cancel."""
    assert client.cancel(run, reason="wrong market").reason == "wrong market"
    client.drain()
    run = client.get(run)
    assert (run.state, run.reason) == ("cancelled", "wrong market")
    assert client.advance("1d") == []
    return client.states(run)


def test_before_it_is_opened(client_of: Hire) -> None:
    app, flow = program()
    client = client_of(app)
    assert set(ended(client, client.start(flow)).values()) == {"blocked"}
    assert seen == []


def test_while_an_item_waits_for_its_next_attempt(client_of: Hire) -> None:
    app, flow = program()
    client = client_of(app)
    client.failing("item", OSError("once"))
    run = client.run(flow)
    assert ended(client, run) == {
        "first": "succeeded",
        "item": "cancelled",
        "gate": "cancelled",
        "last": "cancelled",
        "undo first": "succeeded",
    }
    assert client.states(run, "item") == {"item[0]": "cancelled", "item[1]": "cancelled"}
    assert seen == ["first", "undo first"]


def test_at_a_gate(client_of: Hire) -> None:
    app, flow = program()
    client = client_of(app)
    client.now = client.now.replace(hour=12)
    run = client.run(flow)
    assert ended(client, run) == {
        "first": "succeeded",
        "item": "succeeded",
        "gate": "cancelled",
        "last": "cancelled",
        "undo first": "succeeded",
    }
    assert seen == ["first", "x", "y", "undo first"]


def test_while_a_body_goes(client_of: Hire) -> None:
    app, flow = program()
    client = client_of(app)

    def cancelled_meanwhile(ctx: koken.Context) -> None:
        client.cancel(ctx.root_id, reason="wrong market")
        seen.append(f"cancelled: {ctx.cancelled}")
        ctx.heartbeat()
        never()

    client.replacing("item", cancelled_meanwhile)
    run = client.run(flow)
    assert (run.state, run.reason) == ("cancelled", "wrong market")
    assert client.states(run) == {
        "first": "succeeded",
        "item": "cancelled",
        "gate": "cancelled",
        "last": "cancelled",
        "undo first": "succeeded",
    }
    assert client.states(run, "item") == {"item[0]": "cancelled", "item[1]": "cancelled"}
    assert seen == ["first", "cancelled: True", "undo first"]


def test_while_it_is_undone_all_is_undone(client_of: Hire) -> None:
    app, flow = program()
    client = client_of(app)
    client.failing("item", koken.Fail("broken"))
    client.failing("flow.first.undo", koken.Snooze("1h"))
    run = client.run(flow)
    assert run.phase == "compensating"
    client.cancel(run, reason="too late")
    run = client.fast_forward(run)
    assert run.state == "failed"
    assert client.states(run)["undo first"] == "succeeded"
    assert seen == ["first", "y", "undo first"]


def test_one_step_alone(client_of: Hire) -> None:
    """The workflow fails then; what does not need it goes on."""
    app = koken.App("alone")
    flow = app.workflow("flow")
    flow.step(never, name="a", gate="0 0 1 1 *")
    flow.step(act("F", "b"), name="b", max_attempts=2, backoff="1h")
    flow.step(never, name="c", after=["b"])
    client = client_of(app)
    run = client.run(flow)
    (b,) = (step for step in client.steps(run) if step.name == "b")
    assert b.run_id is not None
    client.cancel(b.run_id, reason="given up")
    client.drain()
    run = client.get(run)
    assert (run.state, client.states(run)) == (
        "failed",
        {"a": "skipped", "b": "cancelled", "c": "blocked"},
    )


def test_twice(client_of: Hire) -> None:
    app, flow = program()
    client = client_of(app)
    client.failing("item", OSError("once"))
    run = client.run(flow)
    client.cancel(run, reason="first")
    client.cancel(run, reason="second")
    client.drain()
    assert (client.get(run).state, client.get(run).reason) == ("cancelled", "first")
    assert seen == ["first", "undo first"]


def test_while_a_child_of_a_child_waits(client_of: Hire) -> None:
    app, flow = program()
    outer = app.workflow("outer")
    outer.step(flow, name="inner")
    outer.step(never, name="then", after=["inner"])
    client = client_of(app)
    client.failing("flow.item", OSError("once"))
    run = client.run(outer)
    (inner,) = client.started(flow)
    assert ended(client, run) == {"inner": "cancelled", "then": "cancelled"}
    assert client.get(inner).state == "cancelled"
    assert client.states(inner)["undo first"] == "succeeded"
    assert seen == ["first", "undo first"]


def test_everything_is_undone_not_only_the_last(client_of: Hire) -> None:
    app = koken.App("several")
    flow = app.workflow("flow")
    names = ["a", "b", "c"]
    for before, name in zip([None, *names], names, strict=False):
        step = flow.step(act("S", name, seen), name=name, after=[before] if before else [])
        step.compensate(act("S", f"undo {name}", seen))
    flow.step(never, name="last", after=["c"], max_attempts=2, backoff="1h")
    client = client_of(app)
    client.failing("last", OSError("once"))
    run = client.run(flow)
    assert ended(client, run) == {
        "a": "succeeded",
        "b": "succeeded",
        "c": "succeeded",
        "last": "cancelled",
        "undo c": "succeeded",
        "undo b": "succeeded",
        "undo a": "succeeded",
    }
    assert seen == ["a", "b", "c", "undo c", "undo b", "undo a"]
    (last,) = (step for step in client.steps(run) if step.name == "last")
    assert last.reason == "wrong market"


def test_a_durable_function_says_why_it_was_cancelled(client_of: Hire) -> None:
    app = koken.App("durable")

    @app.job
    def job(ctx: koken.Context) -> None:
        undo = ctx.using(compensate=seen.append)
        for name in ("one", "two", "three"):
            undo.step(name, str, name)
        ctx.sleep("1h")

    client = client_of(app)
    run = client.run(job)
    assert set(ended(client, run).values()) == {"succeeded"}
    assert seen == ["three", "two", "one"]


def test_an_earlier_failure_is_not_the_reason(client_of: Hire) -> None:
    app = koken.App("reason")
    flow = app.workflow("flow")

    @flow.step(max_attempts=2, backoff="1h")
    def it(ctx: koken.Context) -> None:
        if ctx.attempt == 1:
            raise OSError("the first attempt")
        client.cancel(ctx.root_id, reason="wrong market")
        ctx.heartbeat()

    client = client_of(app)
    run = client.fast_forward(client.start(flow))
    assert [step.reason for step in client.steps(run)] == ["wrong market"]
