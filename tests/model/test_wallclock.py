from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from koken.model import cron
from koken.model.expression import parse
from koken.model.wallclock import ClockRule, WallTimes, instant_of
from koken.model.zones import wall_at

CHANGES = {
    "America/New_York": (datetime(2026, 3, 8, 7), datetime(2026, 11, 1, 6)),
    "Australia/Lord_Howe": (datetime(2026, 10, 3, 15, 30), datetime(2026, 4, 4, 15)),
    "America/Sao_Paulo": (datetime(2018, 11, 4, 3), datetime(2018, 2, 18, 2)),
    "Antarctica/Troll": (datetime(2026, 3, 29, 1), datetime(2026, 10, 25, 1)),
    "Asia/Beirut": (datetime(2026, 3, 28, 22), datetime(2026, 10, 24, 21)),
    "Pacific/Apia": (datetime(2011, 12, 30, 10), datetime(2012, 3, 31, 14)),
}
MINUTE = timedelta(minutes=1)


def shown_minutes(times: WallTimes, start: datetime, zone: ZoneInfo, hours: int) -> list[datetime]:
    """Instants whose wall clock shows one of the times, by looking at every minute."""
    instants = [start + n * MINUTE for n in range(1, hours * 60 + 1)]
    return [instant for instant in instants if times.holds(wall_at(instant, zone))]


def walked(times: WallTimes, start: datetime, zone: ZoneInfo, hours: int) -> list[datetime]:
    found, at = [], start
    while (due := times.next(at, zone)) is not None and due <= start + timedelta(hours=hours):
        found.append(due)
        at = due
    return found


@given(
    zone=st.sampled_from(sorted(CHANGES)),
    back=st.booleans(),
    hour=st.sampled_from(["*", "0", "1", "2", "3", "0-2", "*/2", "1,3", "23"]),
    minute=st.sampled_from(["*", "*/7", "*/30", "*/45"]),
    lead=st.integers(0, 360),
)
@settings(deadline=None, max_examples=60)
def test_wildcards_come_whenever_a_clock_shows_them(
    zone: str, back: bool, hour: str, minute: str, lead: int
) -> None:
    times = cron.parse(f"{minute} {hour} * * *")
    start = CHANGES[zone][back].replace(tzinfo=UTC) - lead * MINUTE
    there = ZoneInfo(zone)
    assert times.rule is ClockRule.EVERY
    assert walked(times, start, there, 12) == shown_minutes(times, start, there, 12)


@given(
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
    start=st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),
)
@settings(deadline=None, max_examples=100)
def test_fixed_times_agree_with_debian_cron(hour: int, minute: int, start: datetime) -> None:
    zone = ZoneInfo("America/New_York")
    expression = f"{minute} {hour} * * *"
    theirs = [
        t.astimezone(UTC)
        for t, _ in zip(CronSim(expression, start.astimezone(zone)), range(3), strict=False)
    ]
    due = parse(expression, zone.key).next(start)
    assert due is not None
    assert due.astimezone(UTC) == next(t for t in theirs if t > start)


@pytest.mark.parametrize("zone", sorted(CHANGES))
def test_instant_of_a_jump(zone: str) -> None:
    change = CHANGES[zone][0].replace(tzinfo=UTC)
    there = ZoneInfo(zone)
    wall = wall_at(change - timedelta(microseconds=1), there) + timedelta(microseconds=1)
    for inside in (wall, wall + timedelta(minutes=29, seconds=59)):
        assert instant_of(inside, there, shift=True) == change
        assert instant_of(inside, there, shift=False) is None


def test_missing_times_are_told_where_they_are_dropped() -> None:
    zone = "America/New_York"
    start, end = datetime(2026, 3, 8, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC)
    told = parse("*/30 2,4 * * *", zone).missing(start, end)
    assert told == [datetime(2026, 3, 8, 2), datetime(2026, 3, 8, 2, 30)]
    assert parse("30 2 * * *", zone).missing(start, end) == []
    assert parse("* * * * *", zone).missing(start, end) == []
    assert parse("90s", zone).missing(start, end) == []
