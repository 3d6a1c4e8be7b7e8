"""Lengths of time, read and said."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from koken.model.duration import in_words, seconds


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (90, 90),
        (0.5, 0.5),
        ("90", 90),
        ("90s", 90),
        ("5m", 300),
        ("12h", 43200),
        ("1d 6h", 108000),
        ("1.5h", 5400),
        ("200ms", 0.2),
        ("2w", 1209600),
        (timedelta(minutes=3), 180),
    ],
)
def test_reads(value: Any, expected: float) -> None:
    assert seconds(value) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("soon", "timeout is 'soon'; write it as '90s', '5m', '12h' or '1d 6h'"),
        ("5 minutes", "write it as"),
        ("", "write it as"),
        (-1, "finite and not negative"),
        (float("inf"), "finite and not negative"),
        ("nan", "finite and not negative"),
        (True, "write seconds, a timedelta or a text"),
        (None, "write seconds, a timedelta or a text"),
    ],
)
def test_refuses_with_the_options_name(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match="timeout is") as caught:
        seconds(value, name="timeout")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (0.2, "200 ms"),
        (5, "5.0 s"),
        (45, "45 s"),
        (240, "4 min"),
        (3840, "1 h 04 min"),
        (266400, "3 d 2 h"),
    ],
)
def test_says(length: float, words: str) -> None:
    assert in_words(length) == words
