"""Times, lengths and texts as the terminal says them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from koken.cli import telling
from koken.views import clocks, words
from koken.views.cause import Cause

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "just now"),
        (-0.4, "just now"),
        (12, "12 s ago"),
        (-12, "in 12 s"),
        (720, "12 min ago"),
        (-5400, "in 2 h"),
        (47 * 3600, "47 h ago"),
        (-3 * 86400, "in 3 d"),
    ],
)
def test_ago(seconds: float, text: str) -> None:
    assert clocks.ago(NOW - timedelta(seconds=seconds), NOW) == text


def test_no_instant() -> None:
    assert clocks.ago(None, NOW) == "–"
    assert clocks.length_of(None, NOW) == "–"
    assert clocks.length_of(NOW, NOW + timedelta(seconds=75)) == "1 min"


def test_clocks_that_differ_make_no_negative_length() -> None:
    assert clocks.length_of(NOW, NOW - timedelta(seconds=1)) == "0 ms"


def test_plain_leaves_nothing_that_steers_a_terminal() -> None:
    assert words.plain("\x1b[31mred\x1b[0m \x1b]0;title\x07a\tb\rc\nd\x9b") == "red a\tbc ⏎ d"


def test_values_in_a_line() -> None:
    assert words.arguments({"day": "2026-01-01", "n": 3, "deep": {"a": [1]}}) == (
        'day=2026-01-01 n=3 deep={"a":[1]}'
    )
    assert words.dump({"ä": None}) == '{"ä":null}'


def test_counting() -> None:
    assert words.counted(1, "run") == "1 run"
    assert words.counted(1204, "run") == "1,204 runs"
    assert words.counted(2, "body", "bodies") == "2 bodies"
    assert words.capped(1001) == "1,000+"


def test_address_hides_the_password() -> None:
    assert words.address("postgresql://anna:secret@db.example:5432/app") == "db.example:5432/app"
    assert words.address("postgresql:///app") == "localhost/app"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.3, "in 1 s"), (0, "just now"), (-0.3, "just now")]
)
def test_due(seconds: float, text: str) -> None:
    assert clocks.due(NOW + timedelta(seconds=seconds), NOW) == text


@pytest.mark.parametrize(
    ("length", "shown"),
    [(None, "–"), (0.4, "0:00"), (12, "0:12"), (3599.9, "59:59"), (14290, "3:58:10")],
)
def test_lengths_as_a_clock_shows_them(length: float | None, shown: str) -> None:
    assert telling.watch_clock(length) == shown


def test_times_of_day() -> None:
    local = NOW.astimezone().replace(hour=4, minute=30, second=0)
    assert telling.time_of(local) == "04:30"
    assert telling.time_of(local.replace(second=7)) == "04:30:07"


@pytest.mark.parametrize(
    ("seconds", "text"), [(-2, "for a moment"), (0.4, "for a moment"), (38, "for 38 s")]
)
def test_for_so_long(seconds: float, text: str) -> None:
    since = NOW - timedelta(seconds=seconds)
    assert clocks.so_long(since, NOW) == text
    assert clocks.so_long(None, NOW) == "–"
    assert clocks.lasted(Cause(cause="lock", text="", since=since), NOW) == text


def test_what_has_happened_is_told_by_its_instant() -> None:
    cause = Cause(cause="step_failed", text="", since=NOW - timedelta(minutes=9))
    assert clocks.lasted(cause, NOW) == "9 min ago"
