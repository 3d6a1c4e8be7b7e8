"""Acceptance rules, with exact shares."""

from __future__ import annotations

from typing import Any

import pytest

from koken.errors import DeclarationError
from koken.model.accept import Accept


@pytest.mark.parametrize(
    ("accept", "total", "required"),
    [
        (Accept(0.95, of=20), 20, 19),
        (Accept(0.95, of=20), 21, 20),
        (Accept(0.95, of=20), 200, 190),
        (Accept(0.95, of=20), 19, 1),
        (Accept(0.95, of=20, at_least=3), 19, 3),
        (Accept(0.95, of=20, at_least=3), 2, 2),
        (Accept(0.7), 10, 7),
        (Accept(0.07), 100, 7),
        (Accept(0.29), 100, 29),
        (Accept(0.1, at_least=5), 10, 5),
        (Accept(0.5), 1, 1),
        (Accept(0.5), 3, 2),
        (Accept(1), 7, 7),
        (Accept(0), 7, 1),
        (Accept(0, at_least=0), 7, 0),
        (Accept(1), 0, 0),
    ],
)
def test_required_and_tolerated(accept: Accept, total: int, required: int) -> None:
    assert accept.required(total) == required
    assert accept.tolerated(total) == total - required


def test_as_plain_values() -> None:
    accept = Accept(0.95, of=20, at_least=2)
    assert accept.to_json() == {"share": 0.95, "of": 20, "at_least": 2}
    assert Accept(**accept.to_json()) == accept


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 95}, "accept is 95; it is a share from 0 to 1, such as 0.95"),
        ({"share": True}, "accept is True; it is a share from 0 to 1, such as 0.95"),
        ({"share": float("nan")}, "accept is nan; it is a share from 0 to 1, such as 0.95"),
        ({"share": "all"}, "accept is 'all'; it is a share from 0 to 1, such as 0.95"),
        ({"share": 0.5, "of": 0}, "accept: of is 0; it counts from 1"),
        ({"share": 0.5, "at_least": -1}, "accept: at_least is -1; it counts from 0"),
        ({"share": 0.5, "at_least": 1.5}, "accept: at_least is 1.5; it counts from 0"),
    ],
)
def test_what_is_no_rule(given: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Accept(**given)
    assert str(caught.value) == message
