"""What a schedule does about due times that have come, with its time in our hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from koken.model.firing import Firings, firings
from koken.model.schedule import Schedule

NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


def fire(schedule: Schedule, since: timedelta, now: datetime = NOON) -> Firings:
    """What comes of a schedule that nobody looked at for so long."""
    return firings(schedule, cursor_at=now - since, now=now, job="report", workspace="default")


def told(found: Firings) -> list[tuple[str, str, int]]:
    """Verdict, first due time and count of each tick."""
    return [(tick.verdict, f"{tick.due_at:%H:%M:%S}", tick.count) for tick in found.ticks]


def test_a_due_time_fires_once_and_the_next_comes_from_it() -> None:
    found = fire(Schedule("0 12 * * *"), timedelta(seconds=2))
    assert told(found) == [("start", "12:00:00", 1)]
    assert (found.cursor_at, found.next_at) == (NOON, NOON + timedelta(days=1))


def test_nothing_due_is_nothing_done() -> None:
    found = fire(Schedule("0 13 * * *"), timedelta(seconds=2))
    assert (told(found), found.next_at) == ([], NOON + timedelta(hours=1))


def test_each_due_time_of_a_few_seconds_fires_by_itself() -> None:
    """A sweep that is a little late is no outage."""
    found = fire(Schedule("2s"), timedelta(seconds=9))
    assert told(found) == [("start", f"11:59:{second}", 1) for second in (52, 54, 56, 58)] + [
        ("start", "12:00:00", 1)
    ]


@pytest.mark.parametrize(
    ("catchup", "expected"),
    [
        ("none", [("missed", "06:01:00", 359), ("start", "12:00:00", 1)]),
        ("latest", [("missed", "06:01:00", 359), ("start", "12:00:00", 1)]),
        ("coalesce", [("start", "11:59:00", 359), ("start", "12:00:00", 1)]),
    ],
)
def test_six_hours_without_a_scheduler(catchup: str, expected: list[tuple[str, str, int]]) -> None:
    """bug-060, with a due time that is on time besides."""
    found = fire(Schedule("* * * * *", catchup=catchup), timedelta(hours=6))
    assert told(found) == expected


@pytest.mark.parametrize(
    ("catchup", "expected"),
    [
        ("none", [("missed", "07:00:00", 5)]),
        ("latest", [("missed", "07:00:00", 4), ("start", "11:00:00", 1)]),
        ("coalesce", [("start", "11:00:00", 5)]),
        ("all", [("start", f"{hour:02d}:00:00", 1) for hour in range(7, 12)]),
    ],
)
def test_an_outage_that_ends_between_due_times(
    catchup: str, expected: list[tuple[str, str, int]]
) -> None:
    now = NOON - timedelta(minutes=30)
    found = fire(Schedule("0 * * * *", catchup=catchup), timedelta(hours=5), now)
    assert told(found) == expected
    assert found.next_at == NOON


def test_one_run_stands_for_the_window_that_was_missed() -> None:
    now = NOON - timedelta(minutes=30)
    (tick,) = fire(Schedule("0 * * * *", catchup="coalesce"), timedelta(hours=5), now).ticks
    assert (tick.since_at, tick.due_at) == (
        NOON - timedelta(hours=5, minutes=30),
        NOON - timedelta(hours=1),
    )


def test_all_is_bounded_and_the_newest_are_made_up_for() -> None:
    schedule = Schedule("* * * * *", catchup="all", catchup_limit=150)
    first = fire(schedule, timedelta(hours=6))
    assert told(first)[0] == ("missed", "06:01:00", 209)
    assert len(first.ticks) == 101
    assert first.next_at == first.cursor_at + timedelta(minutes=1)
    second = firings(
        schedule, cursor_at=first.cursor_at, now=NOON, job="report", workspace="default"
    )
    assert [tick.due_at for tick in first.ticks[1:] + second.ticks] == [
        NOON - timedelta(minutes=minutes) for minutes in range(150, -1, -1)
    ]


@pytest.mark.parametrize(
    ("catchup", "verdict", "until", "reason"),
    [
        ("none", "missed", "11:59:49", "no scheduler ran (catchup none)"),
        ("latest", "missed", "11:59:49", "no scheduler ran (catchup latest)"),
        ("coalesce", "start", "11:59:49", None),
        ("all", "missed", "11:56:29", "more than catchup_limit=200 were missed"),
    ],
)
def test_more_than_are_counted(catchup: str, verdict: str, until: str, reason: str | None) -> None:
    """Three hours of seconds: the count says "at least", and nothing is left out."""
    now = NOON - timedelta(seconds=1)
    schedule = Schedule("1s", catchup=catchup, catchup_limit=200)
    first = fire(schedule, timedelta(hours=3), now).ticks[0]
    assert (first.verdict, f"{first.until_at:%H:%M:%S}", first.count) == (verdict, until, 10_001)
    assert first.reason == (reason and f"at least 10,000 due times: {reason}")


def test_beyond_the_count_too_the_newest_are_made_up_for() -> None:
    """The first page of them begins where the limit says, however long ago the outage began."""
    schedule = Schedule("1s", catchup="all", catchup_limit=200)
    found = fire(schedule, timedelta(days=3))
    ones = [tick.due_at for tick in found.ticks if tick.verdict == "start"]
    fresh_from = NOON - timedelta(seconds=10)
    assert ones == [fresh_from - timedelta(seconds=ago) for ago in range(199, 99, -1)]
    assert found.cursor_at == ones[-1]


def test_a_time_that_did_not_exist_is_recorded_where_it_is_left_out() -> None:
    """bug-056, bug-074: EventBridge skips in the gap, and the skip can be seen."""
    new_york = datetime.fromisoformat("2026-03-08T12:00:00-04:00")
    found = fire(
        Schedule("cron(30 2 * * ? *)", timezone="America/New_York"), timedelta(hours=11), new_york
    )
    assert [(tick.verdict, tick.reason) for tick in found.ticks] == [
        ("skipped", "2026-03-08 02:30 did not exist in America/New_York: clocks went forward")
    ]


def test_the_repeated_hour_has_both_its_passes() -> None:
    """bug-049: due times are told apart as instants, not by the clock on the wall."""
    after = datetime.fromisoformat("2026-11-01T03:00:30-05:00")
    found = fire(
        Schedule("* * * * *", timezone="America/New_York", catchup="all", catchup_limit=1000),
        timedelta(hours=2, minutes=30),
        after,
    )
    instants = [tick.due_at for tick in found.ticks]
    assert instants == sorted(set(instants))
    assert instants[1] - instants[0] == timedelta(minutes=1)
    assert len(instants) == 100


def test_arguments_are_filled_with_the_local_time_of_the_tick() -> None:
    schedule = Schedule(
        "0 1 * * *",
        timezone="Asia/Tokyo",
        args={"day": "{logical_time:%Y-%m-%d}", "in": ["{workspace}", 7], "at": "{logical_time}"},
    )
    now = datetime(2026, 3, 9, 16, 0, tzinfo=UTC)
    (tick,) = fire(schedule, timedelta(seconds=1), now).ticks
    assert tick.args == {
        "day": "2026-03-10",
        "in": ["default", 7],
        "at": "2026-03-10T01:00:00+09:00",
    }


def test_jitter_delays_the_start_and_not_the_due_time() -> None:
    schedule = Schedule("0 12 * * *", jitter="10m")
    (tick,) = fire(schedule, timedelta(seconds=1)).ticks
    (again,) = fire(schedule, timedelta(seconds=1)).ticks
    assert tick.due_at == NOON
    assert 0 < tick.delay < 600
    assert tick == again
