"""Conditions of steps: how they read, what they look at, and when they hold."""

from __future__ import annotations

from enum import Enum

import pytest

from koken.define import condition


class Size(Enum):
    BIG = "big"


def enough(count: int, floor: int = 3) -> bool:
    return count > floor


class Rule:
    def __call__(self, count: int) -> bool:
        return count == 1


def test_in_words() -> None:
    assert condition.in_words(None) == ""
    assert condition.in_words(condition.read({"size": "big"})) == 'size is "big"'
    assert condition.in_words(condition.read({"size": ["big", "ä"], "n": 1})) == (
        'size is "big" or "ä" and n is 1'
    )
    assert condition.in_words(enough) == "enough"
    assert condition.in_words(lambda size: size) == "its condition"
    assert condition.in_words(Rule()) == "Rule"


def test_what_it_looks_at() -> None:
    assert condition.asked({"size": ("big",), "n": (1,)}) == {"size": True, "n": True}
    assert condition.asked(enough) == {"count": True, "floor": False}
    assert condition.asked(Rule()) == {"count": True}


def test_values() -> None:
    wanted = condition.read({"size": Size.BIG, "n": [1, 2]})
    assert wanted == {"size": ("big",), "n": (1, 2)}
    assert condition.unmet(wanted, {"size": "big", "n": 2}) == ""
    assert condition.unmet(wanted, {"size": Size.BIG, "n": 2}) == ""
    assert condition.unmet(wanted, {"size": "small", "n": 2}) == 'size is not "big"'
    assert condition.unmet(wanted, {"size": "small", "n": [1]}) == (
        'size is not "big" and n is not 1 or 2'
    )
    assert condition.unmet(wanted, {"size": "big"}) == "n is not 1 or 2"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"count": 4}, ""),
        ({"count": 3}, "enough says no"),
        ({"count": 3, "floor": 2}, ""),
        ({"count": 4, "other": 1}, ""),
    ],
)
def test_predicate(values: dict[str, int], reason: str) -> None:
    assert condition.unmet(enough, values) == reason
