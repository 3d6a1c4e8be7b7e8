from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koken.errors import DeclarationError
from koken.model.eventbridge import Once
from koken.model.expression import Expression, parse
from koken.model.interval import Interval
from koken.model.wallclock import WallTimes

EXPRESSIONS = (
    "* * * * *",
    "*/7 * * * * *",
    "0 * * * *",
    "30 2 * * *",
    "0 0 * * *",
    "*/20 1-3 * * *",
    "15 0-23/6 * * *",
    "0 9 L * *",
    "0 9 * * 1#1",
    "0 12 15W * *",
    "0 0 29 2 *",
    "cron(30 2 * * ? *)",
    "cron(0/10 0-3 ? * SUN *)",
    "cron(45 1 1W * ? 2018-2030)",
    "rate(45 minutes)",
    "90s",
    "1d 6h",
    "every weekday at 9:30",
    "every 2 weeks on sunday at 02:30",
    "every 25 min from 00:00 to 04:00",
)

FREQUENT = {"* * * * *", "*/7 * * * * *", "90s"}

ZONES = (
    "UTC",
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Havana",
    "America/New_York",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "Asia/Tokyo",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Pacific/Easter",
)


def utc(instant: datetime | None) -> datetime:
    assert instant is not None
    return instant.astimezone(UTC)


def changes(zone: str, start: datetime, end: datetime) -> list[datetime]:
    """Hours in which the zone's offset changes, found by looking at every hour."""
    found, at, hour = [], start, timedelta(hours=1)
    while at < end:
        here, there = (t.astimezone(ZoneInfo(zone)).utcoffset() for t in (at, at + hour))
        if here != there:
            found.append(at)
        at += hour
    return found


def walk(understood: Expression, start: datetime, end: datetime) -> list[datetime]:
    found, at = [], start
    while (due := understood.next(at)) is not None and utc(due) < end:
        at = utc(due)
        found.append(at)
    return found


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("year", [2018, 2026])
def test_steps_through_every_change_of_a_year(zone: str, year: int) -> None:
    """bug-050."""
    start, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    around = changes(zone, start, end) or [start]
    for expression in EXPRESSIONS:
        understood = parse(expression, zone)
        for change in around:
            lead = timedelta(hours=1 if expression in FREQUENT else 12)
            found = walk(understood, change - lead, change + 2 * lead)
            assert all(a < b for a, b in pairwise(found))


def part_way(start: datetime, end: datetime, share: float) -> datetime:
    return min(start + (end - start) * share, end - timedelta(microseconds=1))


@given(
    expression=st.sampled_from(EXPRESSIONS),
    zone=st.sampled_from(ZONES),
    start=st.datetimes(datetime(2010, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
    share=st.floats(0, 1),
)
@settings(deadline=None, max_examples=300)
def test_next_is_later_and_the_same_from_everywhere_before_it(
    expression: str, zone: str, start: datetime, share: float
) -> None:
    understood = parse(expression, zone)
    first = understood.next(start)
    if first is None:
        assert expression.startswith("cron(45")
        return
    assert utc(first) > start
    assert first.tzinfo is ZoneInfo(zone)
    assert utc(understood.next(part_way(start, utc(first), share))) == utc(first)
    following = understood.next(first)
    if following is not None:
        assert utc(following) > utc(first)
        between = part_way(utc(first), utc(following), share)
        assert utc(understood.next(between)) == utc(following)


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("0 2 * * *", WallTimes),
        ("@daily", WallTimes),
        ("cron(0 2 * * ? *)", WallTimes),
        ("rate(5 minutes)", Interval),
        ("at(2026-12-01T02:00:00)", Once),
        ("90s", Interval),
        ("every day at 2am", WallTimes),
    ],
)
def test_all_ways_to_write_a_time(expression: str, kind: type) -> None:
    assert isinstance(parse(expression).times, kind)


def test_refuses_naive_instants() -> None:
    naive = datetime(2026, 1, 1)
    with pytest.raises(ValueError, match="after is naive"):
        parse("0 2 * * *").next(naive)
    with pytest.raises(ValueError, match="anchor is naive"):
        parse("5m", anchor=naive)


@pytest.mark.parametrize("expression", ["", "   ", None, 5])
def test_refuses_what_is_no_text(expression: str) -> None:
    with pytest.raises(DeclarationError, match=r"is no expression. Write '0 2 \* \* \*' or '5m'"):
        parse(expression)


def test_ends_with_the_calendar() -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    for expression in ("0 2 * * *", "* * * * *", "cron(0 2 * * ? *)", "every 2 days at 02:00"):
        assert parse(expression, "America/New_York").next(last) is None
