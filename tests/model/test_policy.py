"""Backoff, locks and rules as values."""

from __future__ import annotations

from typing import Any

import pytest

from koken.errors import DeclarationError
from koken.model.policy import Backoff, Lock, Overlap


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        (Backoff("fixed", base="5m"), [300, 300, 300, 300, 300]),
        (Backoff("linear", base="10s", cap="1h"), [10, 300, 640, 3100, 3600]),
        (Backoff(base="10s", cap="1h"), [10, 3600, 3600, 3600, 3600]),
        (Backoff("fixed", base="12h", cap="1h"), [43200] * 5),
    ],
)
def test_waits_grow_to_their_cap_and_stay_there(backoff: Backoff, delays: list[float]) -> None:
    """bug-040: at any attempt, never negative, never an error."""
    assert [backoff.delay(attempt, 0.0) for attempt in (1, 30, 64, 310, 1000)] == delays


def test_chance_shortens_a_wait_by_at_most_the_jitter() -> None:
    backoff = Backoff("fixed", base="100s", jitter=0.25)
    assert [backoff.delay(1, chance) for chance in (0.0, 0.5, 1.0)] == [100, 87.5, 75]
    assert Backoff("fixed", base="100s", jitter=0).delay(1, 1.0) == 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "quadratic"}, "it is fixed, linear or exponential"),
        ({"jitter": 2}, "it is a share from 0 to 1"),
    ],
)
def test_backoffs_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        Backoff(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": ""}, "a lock needs a key"),
        ({"key": "k", "limit": 0}, "it counts from 1"),
        ({"key": "k", "limit": True}, "it counts from 1"),
        ({"key": "k", "mode": "loose"}, "lock 'k'"),
        ({"key": "k", "when_held": "cry"}, "lock 'k'"),
    ],
)
def test_locks_that_cannot_be(options: dict[str, Any], message: str) -> None:
    key = options.pop("key")
    with pytest.raises(DeclarationError, match=message):
        Lock(key, **options)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("ALWAYS_RUN", Overlap.ALLOW),
        ("SKIP_IF_RUNNING_OR_FAILED", Overlap.SKIP_IF_RUNNING_OR_FAILED),
        ("queue_one", Overlap.QUEUE_ONE),
    ],
)
def test_rules_by_their_names(name: str, rule: Overlap) -> None:
    assert Overlap.of(name) is rule


def test_an_unknown_rule_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(DeclarationError, match="the rules are allow, skip_if_running"):
        Overlap.of("sometimes")
