"""Gates and windows of steps, and time limits."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

import koken
from tests.workflows.acts import act
from tests.workflows.conftest import Hire

NEW_YORK = "America/New_York"


def at(text: str) -> datetime:
    """A moment on the clocks of New York, where it is 4 or 5 hours before UTC."""
    offset = "-05:00" if text < "2026-03-08T03" else "-04:00"
    return datetime.fromisoformat(text + offset)


def gated(client_of: Hire, expression: str, logical_time: str) -> tuple[str, str, datetime]:
    """How a step with a gate stands at once, why, and when the step after it goes."""
    app = koken.App("gates")
    flow = app.workflow("flow", timezone=NEW_YORK)
    went: list[datetime] = []
    flow.step(act("S", "gate"), name="gate", gate=expression)
    flow.step(lambda: went.append(client.now), name="after", after=["gate"])
    client = client_of(app)
    client.now = at(logical_time)
    run = client.run(flow)
    (gate, _) = client.steps(run)
    assert gate.state is not None
    assert client.fast_forward(run).state == "succeeded"
    assert client.states(run)["after"] == "succeeded"
    (moment,) = went
    return gate.state.value, gate.reason, moment


@pytest.mark.parametrize(
    ("gate", "logical_time", "state", "goes"),
    [
        ("* * * * 0,5,6", "2026-03-06T20:00:00", "succeeded", "2026-03-06T20:00:00"),  # Friday
        ("* * * * 0,5,6", "2026-03-08T20:00:00", "succeeded", "2026-03-08T20:00:00"),  # Sunday
        ("* * * * 0,5,6", "2026-03-09T20:00:00", "skipped", "2026-03-09T20:00:00"),
        ("* * 15 * *", "2026-03-15T20:00:00", "succeeded", "2026-03-15T20:00:00"),
        ("* * 15 * *", "2026-03-14T20:00:00", "skipped", "2026-03-14T20:00:00"),
        ("30 16 * * *", "2026-03-06T04:30:00", "waiting", "2026-03-06T16:30:00"),
        ("30 16 * * *", "2026-03-06T16:31:00", "succeeded", "2026-03-06T16:31:00"),
        ("30 16 * * 5", "2026-03-06T04:30:00", "waiting", "2026-03-06T16:30:00"),
        ("30 16 * * 5", "2026-03-05T04:30:00", "skipped", "2026-03-05T04:30:00"),
        ("01 00 7 3 *", "2026-03-06T20:00:00", "waiting", "2026-03-07T00:01:00"),
        ("01 00 7 3 *", "2026-03-05T20:00:00", "skipped", "2026-03-05T20:00:00"),
        ("01 00 7 3 *", "2026-03-07T00:00:00", "waiting", "2026-03-07T00:01:00"),
        ("01 00 7 3 *", "2026-03-08T20:00:00", "skipped", "2026-03-08T20:00:00"),
        ("30 16 8 3 *", "2026-03-08T01:00:00", "waiting", "2026-03-08T16:30:00"),  # a short day
    ],
)
def test_gates(client_of: Hire, gate: str, logical_time: str, state: str, goes: str) -> None:
    found, reason, moment = gated(client_of, gate, logical_time)
    assert (found, moment) == (state, at(goes))
    assert bool(reason) == (state == "skipped")


def test_a_gate_says_why(client_of: Hire) -> None:
    _, reason, _ = gated(client_of, "* * * * 0,5,6", "2026-03-09T20:00:00")
    assert reason == "gate * * * * 0,5,6: Monday 2026-03-09 is not one of its days"


def test_a_held_step_says_until_when(client_of: Hire) -> None:
    app = koken.App("held")
    flow = app.workflow("flow", timezone=NEW_YORK)
    flow.step(act("S", "a"), name="a")
    flow.step(act("S", "b"), name="b", after=["a"], gate="30 16 * * *")
    client = client_of(app)
    client.now = at("2026-03-06T04:30:00")
    run = client.run(flow)
    a, b = client.steps(run)
    assert (b.state, b.held_until, b.gate) == (
        "waiting",
        at("2026-03-06T16:30:00"),
        "gate 30 16 * * *",
    )
    assert client.advance("11h") == []
    assert client.advance("1h")[0].state == "succeeded"
    assert (a.attempt, client.attempts(run, "b")) == (1, 1)


def test_gates_go_by_the_logical_time(client_of: Hire) -> None:
    """A run that makes up for a Friday goes as on the Friday."""
    app = koken.App("late")
    flow = app.workflow("flow", timezone=NEW_YORK)
    flow.step(act("S", "friday"), name="friday", gate="0 23 * * 5")
    flow.step(act("S", "monday"), name="monday", gate="* * * * 1")
    client = client_of(app)
    client.now = at("2026-03-09T08:00:00")
    run = client.run(flow.using(logical_time=at("2026-03-06T20:00:00")))
    assert (run.state, client.states(run)) == (
        "succeeded",
        {"friday": "succeeded", "monday": "skipped"},
    )


def test_a_step_waits_for_its_needs_and_its_gate(client_of: Hire) -> None:
    app = koken.App("both")
    flow = app.workflow("flow")
    went: list[datetime] = []
    flow.step(act("F", "slow"), name="slow", max_attempts=2, backoff="3h")
    flow.step(lambda: went.append(client.now), name="it", gate="0 13 * * *", after=["slow"])
    client = client_of(app)
    client.now = datetime.fromisoformat("2026-03-10T12:00:00+00:00")
    run = client.run(flow)
    client.replacing("slow", lambda: None)
    assert client.states(run) == {"slow": "waiting", "it": "blocked"}
    assert client.fast_forward(run).state == "succeeded"
    assert went == [datetime.fromisoformat("2026-03-10T15:00:00+00:00")]


@pytest.mark.parametrize(
    ("missed", "state", "run_state", "after"),
    [("skip", "skipped", "succeeded", "succeeded"), ("fail", "failed", "failed", "blocked")],
)
def test_a_window_that_is_missed(
    client_of: Hire, missed: str, state: str, run_state: str, after: str
) -> None:
    app = koken.App("missed")
    flow = app.workflow("flow")
    flow.step(act("F", "slow"), name="slow", max_attempts=2, backoff="9h")
    flow.step(
        act("S", "it"), name="it", after=["slow"], window="22:00-06:00",
        window_missed=missed,  # type: ignore[arg-type]
    )  # fmt: skip
    flow.step(act("S", "after"), name="after", after=["it"])
    client = client_of(app)
    client.now = datetime.fromisoformat("2026-03-10T23:00:00+00:00")
    run = client.run(flow)
    client.replacing("slow", lambda: None)
    run = client.fast_forward(run)
    assert (run.state, client.states(run)) == (
        run_state,
        {"slow": "succeeded", "it": state, "after": after},
    )
    (reason,) = (step.reason for step in client.steps(run) if step.name == "it")
    assert reason.endswith("its window closed before it could start")


def test_a_window_holds_until_it_opens(client_of: Hire) -> None:
    app = koken.App("window")
    flow = app.workflow("flow")
    went: list[datetime] = []
    flow.step(lambda: went.append(client.now), name="it", window="22:00-06:00")
    client = client_of(app)
    client.now = datetime.fromisoformat("2026-03-10T12:00:00+00:00")
    assert client.fast_forward(client.start(flow)).state == "succeeded"
    assert went == [datetime.fromisoformat("2026-03-10T22:00:00+00:00")]


def test_a_workflow_that_takes_too_long(client_of: Hire) -> None:
    app = koken.App("long")
    flow = app.workflow("flow", run_timeout="2h")
    seen: list[str] = []

    @flow.step
    def first() -> str:
        return "first"

    @first.compensate
    def undo_first(first: str) -> None:
        seen.append(f"undo {first}")

    flow.step(
        act("F", "second", seen), name="second", after=["first"], max_attempts=9, backoff="45m"
    )
    flow.step(act("S", "third", seen), name="third", after=["second"])
    client = client_of(app)
    began = client.now
    run = client.fast_forward(client.start(flow))
    assert client.now - began == timedelta(hours=2)
    assert (run.state, run.reason) == (
        "failed",
        "Timeout: the run took longer than it may (run_timeout)",
    )
    assert seen == ["second", "second", "second", "undo first"]
    assert client.states(run) == {
        "first": "succeeded",
        "second": "cancelled",
        "third": "cancelled",
        "undo first": "succeeded",
    }


def test_a_body_whose_workflow_takes_too_long_is_stopped(client_of: Hire) -> None:
    app = koken.App("stopped")
    flow = app.workflow("flow", run_timeout="2h")
    seen: list[str] = []

    @flow.step
    def slow(ctx: koken.Context) -> None:
        client.now = client.now + timedelta(hours=3)
        seen.append("went")

    client = client_of(app)
    run = client.run(flow)
    assert (run.state, seen) == ("failed", ["went"])


def test_a_step_has_a_timeout_of_its_own(client_of: Hire) -> None:
    app = koken.App("timeouts")
    flow = app.workflow("flow", timeout="1h")

    @flow.step(timeout=0.2, max_attempts=2, backoff="1m")
    def slow(ctx: koken.Context) -> None:
        while ctx.attempt == 1:
            ctx.heartbeat()

    client = client_of(app)
    run = client.fast_forward(client.start(flow))
    assert (run.state, client.attempts(run, "slow")) == ("succeeded", 2)
