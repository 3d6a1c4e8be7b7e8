"""Locks of steps, of workflows, and of what is inside them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import koken
from koken import Lock
from koken.errors import Overlapping
from tests.workflows.acts import act, never
from tests.workflows.conftest import Hire


def test_a_lock_of_steps_lets_one_go_at_once(client_of: Hire) -> None:
    app = koken.App("locks")

    @app.workflow
    def flow(name: str) -> None: ...

    seen: list[str] = []

    @flow.step(lock="cluster", max_attempts=2, backoff="1h")
    def crunch(name: str) -> None:
        seen.append(name)
        if seen == ["a"]:
            raise OSError("once")

    flow.step(act("S", "free", seen), name="free")
    client = client_of(app)
    first, second = client.start(flow, "a"), client.start(flow, "b")
    client.drain()
    assert client.states(first) == {"crunch": "waiting", "free": "succeeded"}
    assert client.states(second) == {"crunch": "blocked", "free": "succeeded"}
    assert client.fast_forward(second).state == "succeeded"
    assert client.get(first).state == "succeeded"
    assert [each for each in seen if each != "free"] == ["a", "a", "b"]


def test_a_step_stands_in_line_only_when_its_needs_are_met(client_of: Hire) -> None:
    app = koken.App("line")

    @app.workflow
    def flow(name: str) -> None: ...

    seen: list[str] = []
    flow.step(act("F", "slow"), name="slow", max_attempts=2, backoff="1h", when={"name": "a"})

    @flow.step(lock="cluster", after=["slow"])
    def crunch(name: str) -> None:
        seen.append(name)

    client = client_of(app)
    first = client.run(flow, "a")
    second = client.run(flow, "b")
    assert (client.states(first)["crunch"], second.state, seen) == ("blocked", "succeeded", ["b"])
    client.replacing("slow", lambda: None)
    assert client.fast_forward(first).state == "succeeded"
    assert seen == ["b", "a"]


def test_a_child_passes_by_the_lock_of_its_holder(client_of: Hire) -> None:
    app = koken.App("holder")

    @app.job(lock="cluster")
    def inner() -> int:
        return 7

    flow = app.workflow("flow", lock="cluster")
    flow.step(inner)
    flow.step(lambda: 8, name="own", lock="cluster", after=["inner"])
    client = client_of(app)
    run = client.run(flow)
    assert (run.state, run.result) == ("succeeded", 8)


def test_a_workflow_has_a_lock_and_rules_like_any_job(client_of: Hire) -> None:
    app = koken.App("rules")

    @app.workflow(lock="day:{day}")
    def locked(day: str) -> None: ...

    alone = app.workflow("alone", overlap="refuse")
    for flow in (locked, alone):
        flow.step(act("F", "a"), name="a", max_attempts=2, backoff="1h")
    client = client_of(app)
    client.run(alone)
    with pytest.raises(Overlapping):
        client.start(alone)
    first, second, other = (client.start(locked, day) for day in ("Mon", "Mon", "Tue"))
    client.drain()
    assert [client.get(run).state for run in (first, second, other)] == [
        "waiting",
        "blocked",
        "waiting",
    ]
    assert client.states(second) == {"a": "blocked"}
    client.fast_forward(second)
    assert [client.get(run).state for run in (first, second, other)] == ["failed"] * 3


def test_a_lock_behind_a_gate_is_taken_when_it_opens(client_of: Hire) -> None:
    app = koken.App("gate")
    flow = app.workflow("flow")
    other = app.job(lambda: 1, name="other", lock="cluster")
    went: list[datetime] = []
    flow.step(lambda: went.append(client.now), name="it", lock="cluster", gate="30 16 * * *")
    client = client_of(app)
    client.now = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
    run = client.run(flow)
    assert client.run(other).state == "succeeded"
    assert client.fast_forward(run).state == "succeeded"
    assert went == [datetime(2026, 3, 10, 16, 30, tzinfo=UTC)]


def test_a_step_is_skipped_when_its_lock_is_held(client_of: Hire) -> None:
    app = koken.App("held")
    holder = app.job(
        act("F", "holder"), name="holder", lock="cluster", max_attempts=2, backoff="1h"
    )
    flow = app.workflow("flow")
    flow.step(act("S", "a"), name="a")
    flow.step(never, name="it", after=["a"], lock=Lock("cluster", when_held="skip"))
    flow.step(act("S", "then"), name="then", after=["it"])
    client = client_of(app)
    client.run(holder)
    run = client.run(flow)
    assert (run.state, client.states(run)) == (
        "succeeded",
        {"a": "succeeded", "it": "skipped", "then": "succeeded"},
    )


def test_a_cancel_frees_the_lock_of_a_step(client_of: Hire) -> None:
    app = koken.App("free")
    flow = app.workflow("flow")
    flow.step(act("F", "it"), name="it", lock="cluster", max_attempts=2, backoff="1h")
    client = client_of(app)
    first, second = client.run(flow), client.run(flow)
    assert client.states(second) == {"it": "blocked"}
    client.cancel(first)
    client.drain()
    assert client.states(second) == {"it": "waiting"}
