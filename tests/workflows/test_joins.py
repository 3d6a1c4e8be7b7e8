"""Which ends of its needs let a step go: every rule, with all that its needs may come to."""

from __future__ import annotations

from typing import Literal

import pytest

import koken
from tests.workflows.acts import act
from tests.workflows.conftest import Hire

JOINS = ("all_succeeded", "all_done", "any_succeeded", "any_failed", "none_failed")
WORDS = {"S": "succeeded", "K": "skipped", "B": "blocked"}


@pytest.mark.parametrize(
    ("needs", "ends"),
    [
        ("S", "SSSKS"),
        ("F", "BSBSB"),
        ("C", "BSBSB"),
        ("K", "SSKKS"),
        ("B", "BBBBB"),
        ("SS", "SSSKS"),
        ("SF", "BSSSB"),
        ("SC", "BSSSB"),
        ("SK", "SSSKS"),
        ("SB", "BBSBB"),
        ("FK", "BSBSB"),
        ("FB", "BBBSB"),
        ("KK", "SSKKS"),
        ("KB", "BBBBB"),
        ("SFK", "BSSSB"),
    ],
)
def test_every_rule(client_of: Hire, needs: str, ends: str) -> None:
    """B: a step that never begins, since it is behind one that failed."""
    app = koken.App("joins")
    flow = app.workflow("flow")
    if "B" in needs:
        flow.step(act("F", "broken"), name="broken")
    for n, letter in enumerate(needs):
        after = ["broken"] if letter == "B" else []
        flow.step(act(letter.replace("B", "S"), f"n{n}"), name=f"n{n}", after=after)
    seen: list[str] = []
    names = [f"n{n}" for n in range(len(needs))]
    for join in JOINS:
        flow.step(act("S", join, seen), name=join, after=names, join=join)
    client = client_of(app)
    run = client.run(flow)
    states = client.states(run)
    assert {join: states[join] for join in JOINS} == {
        join: WORDS[letter] for join, letter in zip(JOINS, ends, strict=True)
    }
    assert sorted(seen) == sorted(
        join for join, letter in zip(JOINS, ends, strict=True) if letter == "S"
    )
    assert run.state == ("failed" if set(needs) & set("FCB") else "succeeded")


def test_a_skip_goes_along_hard_edges_only(client_of: Hire) -> None:
    app = koken.App("skips")
    flow = app.workflow("flow")
    seen: list[object] = []

    @flow.step
    def a() -> int:
        raise koken.Skip("no file today")

    @flow.step
    def hard(a: int) -> int:
        raise AssertionError

    @flow.step
    def further(hard: int) -> int:
        raise AssertionError

    @flow.step
    def soft(hard: int = 7) -> int:
        seen.append(hard)
        return hard + 1

    @flow.step(after=[hard, further])
    def later(soft: int) -> int:
        seen.append("later")
        return soft + 1

    client = client_of(app)
    run = client.run(flow)
    assert (run.state, run.result, seen) == ("succeeded", 9, [7, "later"])
    assert client.states(run) == {
        "a": "skipped",
        "hard": "skipped",
        "further": "skipped",
        "soft": "succeeded",
        "later": "succeeded",
    }
    assert [step.reason for step in client.steps(run)] == [
        "no file today",
        "step a, whose result it wants, was skipped",
        "step hard, whose result it wants, was skipped",
        "",
        "",
    ]


def test_any_succeeded_goes_at_the_first_success(client_of: Hire) -> None:
    app = koken.App("first")
    flow = app.workflow("flow", max_attempts=2, backoff="1h")
    seen: list[str] = []
    flow.step(act("S", "fast", seen), name="fast")
    flow.step(act("F", "slow", seen), name="slow")
    flow.step(act("S", "any", seen), name="any", after=["fast", "slow"], join="any_succeeded")
    flow.step(act("S", "fail", seen), name="fail", after=["fast", "slow"], join="any_failed")
    client = client_of(app)
    run = client.run(flow)
    assert client.states(run) == {
        "fast": "succeeded",
        "slow": "waiting",
        "any": "succeeded",
        "fail": "blocked",
    }
    run = client.fast_forward(run)
    assert seen == ["fast", "slow", "any", "slow", "fail"]
    assert (run.state, run.reason) == ("failed", "StepFailed: step slow: OSError: slow is broken")


@pytest.mark.parametrize(
    ("kind", "states"),
    [
        ("small", {"kind": "succeeded", "big": "skipped", "small": "succeeded", "any": "skipped"}),
        ("huge", {"kind": "succeeded", "big": "succeeded", "small": "skipped", "any": "succeeded"}),
        ("odd", {"kind": "succeeded", "big": "skipped", "small": "skipped", "any": "succeeded"}),
    ],
)
def test_when_has_values_or_a_predicate(client_of: Hire, kind: str, states: dict[str, str]) -> None:
    app = koken.App("branches")

    @app.workflow
    def flow(name: str) -> None: ...

    @flow.step(name="kind")
    def kind_of(name: str) -> Literal["small", "big", "huge", "odd"]:
        return name  # type: ignore[return-value]

    @flow.step(when={"kind": ["big", "huge"]})
    def big() -> None: ...

    @flow.step(when={"kind": "small", "name": "small"})
    def small() -> None: ...

    @flow.step(name="any", when=lambda kind, name, big=None: kind == name != "small")
    def anything() -> None: ...

    client = client_of(app)
    run = client.run(flow, kind)
    assert client.states(run) == states
    assert run.state == "succeeded"
    reasons = {step.name: step.reason for step in client.steps(run) if step.reason}
    expected = {
        "big": 'kind is not "big" or "huge"',
        "small": 'kind is not "small" and name is not "small"',
        "any": "its condition says no",
    }
    assert reasons == {name: text for name, text in expected.items() if states[name] == "skipped"}


def test_a_predicate_that_raises_fails_its_step(client_of: Hire) -> None:
    app = koken.App("raises")
    flow = app.workflow("flow")
    flow.step(act("S", "a"), name="a", when=lambda: 1 / 0 > 0)
    client = client_of(app)
    run = client.run(flow)
    assert (run.state, client.states(run)) == ("failed", {"a": "failed"})
    assert "ZeroDivisionError" in run.reason
