"""What meets in one workflow: rules, waits and cancels, and undoing at several depths."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import koken
from tests.workflows.acts import act, never, rows
from tests.workflows.conftest import Hire


def test_a_body_deep_in_the_tree_is_told_at_once(client_of: Hire) -> None:
    app = koken.App("deep")
    seen: list[str] = []

    @app.job
    def leaf(ctx: koken.Context) -> None:
        client.cancel(ctx.root_id, reason="enough")
        seen.append(f"told: {ctx.cancelled}")
        ctx.heartbeat()
        never()

    inner, outer = app.workflow("inner"), app.workflow("outer")
    inner.step(leaf)
    outer.step(inner, name="inner")
    client = client_of(app)
    run = client.run(outer)
    assert (run.state, run.reason, seen) == ("cancelled", "enough", ["told: True"])
    assert [client.started(job)[0].state for job in (inner, leaf)] == ["cancelled", "cancelled"]


def test_a_start_that_replaces_undoes_the_other(client_of: Hire) -> None:
    app = koken.App("replace")
    flow = app.workflow("flow", overlap="replace")
    seen: list[str] = []
    first = flow.step(act("S", "first", seen), name="first")
    first.compensate(act("S", "undo", seen))
    flow.step(act("S", "last", seen), name="last", after=["first"], max_attempts=2, backoff="1h")
    client = client_of(app)
    client.failing("last", OSError("once"))
    old = client.run(flow)
    new = client.run(flow)
    assert (client.get(old).state, client.get(new).state) == ("cancelled", "succeeded")
    assert seen == ["first", "undo", "first", "last"]


def test_a_start_that_is_skipped_has_no_steps(client_of: Hire) -> None:
    app = koken.App("skipped")
    flow = app.workflow("flow", overlap="skip_if_running")
    flow.step(act("F", "a"), name="a", max_attempts=2, backoff="1h")
    client = client_of(app)
    client.run(flow)
    skipped = client.run(flow)
    assert (skipped.state, client.states(skipped)) == ("skipped", {"a": "blocked"})
    assert len(rows(client, "select from koken.run")) == 3


def test_items_only_when(client_of: Hire) -> None:
    app = koken.App("when")

    @app.workflow
    def flow(numbers: list[int], go: bool) -> None: ...

    @flow.step(each={"number": "numbers"}, when={"go": True})
    def item(number: int) -> int:
        return number

    @flow.step
    def total(item: list[int] | None = None) -> int:
        return -1 if item is None else sum(item)

    client = client_of(app)
    assert client.run(flow, [1, 2], True).result == 3
    run = client.run(flow, [1, 2], False)
    assert (run.result, client.states(run)) == (-1, {"item": "skipped", "total": "succeeded"})
    assert client.states(run, "item") == {}


def test_children_of_a_step_end_before_it_does(client_of: Hire) -> None:
    app = koken.App("children")

    @app.job(max_attempts=2, backoff="1h")
    def child(n: int) -> int:
        return n

    flow = app.workflow("flow")

    @flow.step
    def parent(ctx: koken.Context) -> int:
        ctx.start(child, 1)
        return ctx.step("waited for", child, 2)

    flow.step(act("S", "after"), name="after", after=["parent"])
    client = client_of(app)
    client.failing(child, OSError("once"))
    run = client.run(flow)
    assert client.states(run) == {"parent": "waiting", "after": "blocked"}
    run = client.fast_forward(run)
    assert (run.state, client.states(run)) == (
        "succeeded",
        {"parent": "succeeded", "after": "succeeded"},
    )
    assert [(each.state, each.args) for each in client.started(child)] == [
        ("succeeded", {"n": 1}),
        ("succeeded", {"n": 2}),
    ]


def durable_undo(client_of: Hire, seen: list[str]) -> tuple[Any, Any]:
    """A step that undoes what it did within itself, and as a whole."""
    app = koken.App("both")
    flow = app.workflow("flow")

    @flow.step
    def build(ctx: koken.Context) -> str:
        undo = ctx.using(compensate=lambda name: seen.append(f"undo {name}"))
        undo.step("one", lambda: "one")
        undo.step("two", lambda: "two")
        ctx.sleep("1h")
        seen.append("built")
        return "building"

    @build.compensate
    def tear_down(build: str) -> None:
        seen.append(f"undo {build}")

    flow.step(act("F", "last"), name="last", after=["build"])
    return client_of(app), flow


def test_a_step_that_is_cancelled_undoes_its_own(client_of: Hire) -> None:
    seen: list[str] = []
    client, flow = durable_undo(client_of, seen)
    run = client.run(flow)
    client.cancel(run, reason="enough")
    client.drain()
    assert (client.get(run).state, seen) == ("cancelled", ["undo two", "undo one"])
    assert client.states(run) == {"build": "cancelled", "last": "cancelled"}
    assert client.states(run, "build") == {
        "one": "succeeded",
        "two": "succeeded",
        "undo two": "succeeded",
        "undo one": "succeeded",
    }


def test_a_step_that_succeeded_is_undone_as_a_whole(client_of: Hire) -> None:
    seen: list[str] = []
    client, flow = durable_undo(client_of, seen)
    run = client.fast_forward(client.start(flow))
    assert (run.state, seen) == ("failed", ["built", "undo building"])


def test_a_job_as_a_step_can_be_undone(client_of: Hire) -> None:
    app = koken.App("job")
    seen: list[str] = []
    order = app.job(lambda: "order 7", name="order")
    flow = app.workflow("flow")

    @flow.step(order).compensate
    def cancel_order(order: str) -> None:
        seen.append(f"no {order}")

    flow.step(act("F", "last"), name="last", after=["order"])
    client = client_of(app)
    run = client.run(flow)
    assert (run.state, seen) == ("failed", ["no order 7"])


def test_fail_fast_undoes_too(client_of: Hire) -> None:
    app = koken.App("fast")
    flow = app.workflow("flow", fail_fast=True)
    seen: list[str] = []
    first = flow.step(act("S", "first", seen), name="first")
    first.compensate(act("S", "undo", seen))
    flow.step(act("F", "bad", seen), name="bad", after=["first"])
    flow.step(never, name="late", gate="0 0 1 1 *", after=["first"])
    flow.step(never, name="held", after=["first"], max_attempts=2, backoff="1h")
    client = client_of(app)
    client.failing("held", koken.Snooze("9h"))
    run = client.run(flow)
    assert (run.state, seen) == ("failed", ["first", "bad", "undo"])


def test_snoozes_and_retries_of_steps(client_of: Hire) -> None:
    app = koken.App("snooze")
    flow = app.workflow("flow", max_attempts=2)
    flow.step(act("S", "a"), name="a")
    flow.step(act("S", "b"), name="b", after=["a"])
    client = client_of(app)
    began = client.now
    client.failing("a", koken.Snooze("2h", "not there yet"), times=3)
    client.failing("b", koken.Retry("busy", after="30m"))
    run = client.run(flow)
    (a, _) = client.steps(run)
    assert (a.reason, a.attempt) == ("Snooze: not there yet", 0)
    run = client.fast_forward(run)
    assert (run.state, client.attempts(run, "a"), client.attempts(run, "b")) == ("succeeded", 1, 2)
    assert client.now - began == timedelta(hours=6, minutes=30)


def test_a_failure_after_a_compensated_item_is_borne(client_of: Hire) -> None:
    """Items that are missed within the rule have nothing to undo; the others have."""
    app = koken.App("borne")
    flow = app.workflow("flow")
    seen: list[str] = []
    flow.step(lambda: ["x", "y", "z"], name="names")

    @flow.step(each={"name": "names"}, accept=koken.Accept(0.5))
    def item(name: str) -> str:
        if name == "y":
            raise OSError(name)
        return name

    @item.compensate
    def undo(item: str) -> None:
        seen.append(item)

    flow.step(act("F", "last"), name="last", after=["item"])
    client = client_of(app)
    run = client.run(flow)
    assert (run.state, seen) == ("failed", ["z", "x"])
    assert client.states(run, "item") == {
        "item[0]": "succeeded",
        "item[1]": "skipped",
        "item[2]": "succeeded",
    }


def test_a_failed_start_of_a_child_is_the_failure_of_its_step(client_of: Hire) -> None:
    app = koken.App("start")

    @app.job(overlap="refuse", max_attempts=2, backoff="1h")
    def alone() -> int:
        return 1

    flow = app.workflow("flow")
    flow.step(alone)
    client = client_of(app)
    client.failing(alone, OSError("once"))
    client.run(alone)
    run = client.run(flow)
    assert (run.state, client.states(run)) == ("failed", {"alone": "failed"})
    assert "Overlapping" in run.reason


def test_a_step_whose_job_is_skipped_by_a_rule(client_of: Hire) -> None:
    app = koken.App("rule")
    job = app.job(
        act("S", "job"), name="job", overlap="skip_if_running", max_attempts=2, backoff="1h"
    )
    flow = app.workflow("flow")
    flow.step(job)
    flow.step(act("S", "after"), name="after", after=["job"])
    client = client_of(app)
    client.failing(job, OSError("once"))
    client.run(job)
    run = client.run(flow)
    assert (run.state, client.states(run)) == (
        "succeeded",
        {"job": "skipped", "after": "succeeded"},
    )


def test_a_workflow_without_steps(client_of: Hire) -> None:
    app = koken.App("empty")

    @app.workflow
    def flow() -> None: ...

    client = client_of(app)
    run = client.run(flow)
    assert (run.state, client.states(run)) == ("succeeded", {})
