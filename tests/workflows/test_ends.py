"""How a workflow ends: its result, failures of steps, and what is undone then."""

from __future__ import annotations

from datetime import timedelta

import koken
from tests.workflows.acts import act, never
from tests.workflows.conftest import Hire


def test_the_result_of_one_last_step_or_of_several_by_name(client_of: Hire) -> None:
    app = koken.App("results")
    one, several, none = (app.workflow(name) for name in ("one", "several", "none"))
    one.step(lambda: 1, name="first")
    one.step(lambda: 2, name="last", after=["first"])
    several.step(lambda: 1, name="a")
    several.step(lambda: {"x": 2}, name="b")
    several.step(act("K", "c"), name="c")
    none.step(act("S", "a"), name="a")
    client = client_of(app)
    assert client.run(one).result == 2
    assert client.run(several).result == {"a": 1, "b": {"x": 2}, "c": None}
    assert client.run(none).result is None


def test_others_finish_when_one_fails(client_of: Hire) -> None:
    app = koken.App("finish")
    flow = app.workflow("flow")
    seen: list[str] = []
    flow.step(act("F", "a", seen), name="a")
    flow.step(act("S", "b", seen), name="b", max_attempts=2, backoff="3h")
    flow.step(act("S", "c", seen), name="c", after=["b"])
    flow.step(never, name="d", after=["a", "c"])
    client = client_of(app)
    client.failing("b", OSError("once"))
    run = client.fast_forward(client.start(flow))
    assert (run.state, run.reason) == ("failed", "StepFailed: step a: OSError: a is broken")
    assert client.states(run) == {
        "a": "failed",
        "b": "succeeded",
        "c": "succeeded",
        "d": "blocked",
    }
    assert seen == ["a", "b", "c"]


def test_fail_fast_stops_at_the_first_failure(client_of: Hire) -> None:
    app = koken.App("fast")
    flow = app.workflow("flow", fail_fast=True)
    seen: list[str] = []
    flow.step(never, name="waits", max_attempts=2, backoff="3h")
    flow.step(act("S", "done", seen), name="done")
    flow.step(act("F", "a", seen), name="a", after=["done"])
    flow.step(never, name="held", after=["waits"])
    flow.step(never, name="after", after=["a"])
    client = client_of(app)
    client.failing("waits", OSError("once"))
    began = client.now
    run = client.fast_forward(client.start(flow))
    assert (run.state, client.now) == ("failed", began)
    assert client.states(run) == {
        "waits": "cancelled",
        "done": "succeeded",
        "a": "failed",
        "held": "cancelled",
        "after": "cancelled",
    }
    assert seen == ["done", "a"]
    assert run.reason == "StepFailed: step a: OSError: a is broken"


def undoing(client_of: Hire, last: str = "F") -> tuple[object, ...]:
    """Three steps that can be undone, and one that ends so."""
    app = koken.App("undo")
    seen: list[str] = []

    @app.workflow
    def flow(day: str = "today") -> None: ...

    @flow.step
    def a() -> int:
        seen.append("a")
        return 1

    @flow.step(after=["c"])
    def b(a: int) -> int:
        seen.append("b")
        return a + 1

    @flow.step
    def c(a: int) -> int:
        seen.append("c")
        return a + 2

    flow.step(act("S", "d", seen), name="d", after=[b])

    @a.compensate
    def undo_a(a: int) -> None:
        seen.append(f"undo a {a}")

    @b.compensate(max_attempts=3, backoff="10m")
    def undo_b(b: int, a: int, day: str) -> None:
        seen.append(f"undo b {b} {a} {day}")

    @c.compensate
    def undo_c() -> None:
        seen.append("undo c")

    flow.step(act(last, "end", seen), name="end", after=["d"])
    return client_of(app), flow, seen


def test_what_succeeded_is_undone_in_reverse_order(client_of: Hire) -> None:
    client, flow, seen = undoing(client_of)
    run = client.run(flow)
    assert (run.state, run.reason) == ("failed", "StepFailed: step end: OSError: end is broken")
    assert seen == ["a", "c", "b", "d", "end", "undo b 2 1 today", "undo c", "undo a 1"]
    assert client.states(run) == {
        "a": "succeeded",
        "b": "succeeded",
        "c": "succeeded",
        "d": "succeeded",
        "end": "failed",
        "undo b": "succeeded",
        "undo c": "succeeded",
        "undo a": "succeeded",
    }


def test_nothing_is_undone_after_a_success_or_a_skip(client_of: Hire) -> None:
    for letter in "SK":
        client, flow, seen = undoing(client_of, letter)
        assert client.run(flow).state == "succeeded"
        assert seen == ["a", "c", "b", "d", "end"]


def test_an_undo_has_attempts_of_its_own(client_of: Hire) -> None:
    client, flow, seen = undoing(client_of)
    client.failing("flow.b.undo", OSError("busy"), times=2)
    began = client.now
    run = client.run(flow)
    assert (run.state, run.phase) == ("waiting", "compensating")
    assert client.states(run)["undo b"] == "waiting"
    assert client.states(run)["undo c"] == "blocked"
    run = client.fast_forward(run)
    assert client.now - began == timedelta(minutes=20)
    assert (run.state, client.attempts(run, "undo b")) == ("failed", 3)
    assert seen[-3:] == ["undo b 2 1 today", "undo c", "undo a 1"]


def test_an_undo_that_fails_stays_open_and_the_others_go_on(client_of: Hire) -> None:
    client, flow, seen = undoing(client_of)
    client.failing("flow.c.undo", OSError("gone"))
    run = client.run(flow)
    assert run.reason == "StepFailed: step end: OSError: end is broken; failed: undo c"
    assert seen[-2:] == ["undo b 2 1 today", "undo a 1"]
    states = client.states(run)
    assert {name: states[name] for name in states if name.startswith("undo")} == {
        "undo b": "succeeded",
        "undo c": "failed",
        "undo a": "succeeded",
    }


def test_a_worker_killed_in_an_undo(client_of: Hire) -> None:
    client, flow, seen = undoing(client_of)
    client.replacing("flow.c.undo", lambda: client.kill_worker(), times=1)
    run = client.fast_forward(client.start(flow))
    assert run.state == "failed"
    assert seen == ["a", "c", "b", "d", "end", "undo b 2 1 today", "undo c", "undo a 1"]


def test_items_are_undone_one_by_one(client_of: Hire) -> None:
    app = koken.App("items")
    flow = app.workflow("flow")
    seen: list[str] = []
    flow.step(lambda: ["x", "y", "z"], name="names")

    @flow.step(each={"name": "names"}, max_attempts=2)
    def item(name: str) -> str:
        if name == "y":
            raise koken.Fail("y is broken")
        return name.upper()

    @item.compensate
    def undo(item: str) -> None:
        seen.append(item)

    client = client_of(app)
    run = client.run(flow)
    assert (run.state, seen) == ("failed", ["Z", "X"])
    assert client.states(run) == {
        "names": "succeeded",
        "item": "failed",
        "undo item[2]": "succeeded",
        "undo item[0]": "succeeded",
    }


def test_jobs_follow_the_end(client_of: Hire) -> None:
    app = koken.App("hooks")
    seen: list[str] = []

    @app.job
    def well(day: str) -> None:
        seen.append(f"well {day}")

    @app.job
    def badly(day: str) -> None:
        seen.append(f"badly {day}")

    @app.workflow(on_success=well, on_failure=badly)
    def flow(day: str) -> None: ...

    flow.step(act("S", "a"), name="a")
    client = client_of(app)
    client.run(flow, "Monday")
    client.failing("a", OSError("broken"))
    client.run(flow, "Tuesday")
    assert seen == ["well Monday", "badly Tuesday"]


def test_an_undo_with_a_context_and_steps_of_its_own(client_of: Hire) -> None:
    app = koken.App("context")
    flow = app.workflow("flow")
    seen: list[str] = []
    first = flow.step(lambda: 7, name="first")

    @first.compensate(max_attempts=2, backoff="1h")
    def undo(ctx: koken.Context, first: int) -> None:
        ctx.step("once", seen.append, f"undo {first}")
        ctx.sleep("1d")
        if ctx.attempt == 1:
            raise OSError("again")
        seen.append("done")

    flow.step(act("F", "last"), name="last", after=["first"])
    client = client_of(app)
    began = client.now
    run = client.fast_forward(client.start(flow))
    assert (run.state, seen) == ("failed", ["undo 7", "done"])
    assert client.states(run) == {
        "first": "succeeded",
        "last": "failed",
        "undo first": "succeeded",
    }
    assert client.now - began == timedelta(days=1, hours=1)
