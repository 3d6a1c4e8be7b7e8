from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from koken.errors import DeclarationError
from koken.model.expression import parse


@pytest.mark.parametrize(
    ("expression", "step"),
    [
        ("90s", timedelta(seconds=90)),
        ("5m", timedelta(minutes=5)),
        ("1d 6h", timedelta(hours=30)),
        ("1.5h", timedelta(minutes=90)),
        (" 2w ", timedelta(days=14)),
    ],
)
def test_same_length_from_the_anchor_on(expression: str, step: timedelta) -> None:
    anchor = datetime.fromisoformat("2026-03-07T12:34:56.789+09:00")
    understood = parse(expression, "America/New_York", anchor=anchor)
    assert understood.next(anchor - timedelta(microseconds=1)) == anchor
    assert understood.next(anchor) == anchor + step
    assert understood.next(anchor + 1000 * step) == anchor + 1001 * step


def test_without_an_anchor_everybody_counts_from_the_epoch() -> None:
    start = datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert parse("90s").next(start) == datetime(2026, 1, 1, 0, 1, 30, tzinfo=UTC)


def test_hours_go_on_through_the_overlap() -> None:
    at = datetime.fromisoformat("2026-11-01T00:00:00-04:00")
    found = []
    for _ in range(4):
        due = parse("30m", "America/New_York", anchor=at).next(at)
        assert due is not None
        at = due
        found.append(due.isoformat())
    assert found == [
        "2026-11-01T00:30:00-04:00",
        "2026-11-01T01:00:00-04:00",
        "2026-11-01T01:30:00-04:00",
        "2026-11-01T01:00:00-05:00",
    ]


@pytest.mark.parametrize("expression", ["0s", "200ms", "6000w"])
def test_refuses_what_is_too_short_or_too_long(expression: str) -> None:
    with pytest.raises(DeclarationError) as error:
        parse(expression)
    assert str(error.value) == (f"{expression!r}: an interval is between 1 second and 100 years.")


def test_ends_with_the_calendar() -> None:
    assert parse("5200w").next(datetime(9999, 12, 30, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("expression", "words"), [("90s", "Every 1 min 30 s"), ("1d 6h", "Every 1 d 6 h")]
)
def test_in_words(expression: str, words: str) -> None:
    assert parse(expression).in_words() == words
