from __future__ import annotations

from datetime import UTC, datetime

import pytest

from koken.errors import DeclarationError
from koken.model.expression import parse
from tests.model.fires import fires


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("cron(0 2 * * ? *)", ["2026-01-02T02:00:00+00:00", "2026-01-03T02:00:00+00:00"]),
        ("CRON( 0/15 * * * ? * )", ["2026-01-01T12:15:00+00:00", "2026-01-01T12:30:00+00:00"]),
        ("cron(0 8 ? * 1 *)", ["2026-01-04T08:00:00+00:00", "2026-01-11T08:00:00+00:00"]),
        ("cron(0 8 ? * MON-FRI *)", ["2026-01-02T08:00:00+00:00", "2026-01-05T08:00:00+00:00"]),
        ("cron(0 8 ? * 2-6 *)", ["2026-01-02T08:00:00+00:00", "2026-01-05T08:00:00+00:00"]),
        ("cron(0 8 ? * SAT-SUN *)", ["2026-01-03T08:00:00+00:00", "2026-01-04T08:00:00+00:00"]),
        ("cron(0 8 ? * 2/2 *)", ["2026-01-02T08:00:00+00:00", "2026-01-05T08:00:00+00:00"]),
        ("cron(0 8 ? * L *)", ["2026-01-03T08:00:00+00:00", "2026-01-10T08:00:00+00:00"]),
        ("cron(15 10 ? * 6L *)", ["2026-01-30T10:15:00+00:00", "2026-02-27T10:15:00+00:00"]),
        ("cron(0 8 ? * 3#2 *)", ["2026-01-13T08:00:00+00:00", "2026-02-10T08:00:00+00:00"]),
        ("cron(0 8 L * ? *)", ["2026-01-31T08:00:00+00:00", "2026-02-28T08:00:00+00:00"]),
        ("cron(0 8 LW * ? *)", ["2026-01-30T08:00:00+00:00", "2026-02-27T08:00:00+00:00"]),
        ("cron(0 8 3W * ? *)", ["2026-01-02T08:00:00+00:00", "2026-02-03T08:00:00+00:00"]),
        ("cron(0 0 1 1 ? 2028,2031)", ["2028-01-01T00:00:00+00:00", "2031-01-01T00:00:00+00:00"]),
        ("cron(0 0 1 1 ? 2027-2199/9)", ["2027-01-01T00:00:00+00:00", "2036-01-01T00:00:00+00:00"]),
    ],
)
def test_fires(expression: str, expected: list[str]) -> None:
    assert fires(expression, "2026-01-01T12:00:00+00:00", 2) == expected


def test_ends_with_the_last_year() -> None:
    understood = parse("cron(0 0 1 1 ? 2026-2027)")
    assert understood.next(datetime(2026, 6, 1, tzinfo=UTC)) == datetime(2027, 1, 1, tzinfo=UTC)
    assert understood.next(datetime(2027, 1, 1, tzinfo=UTC)) is None


class TestClockChanges:
    def test_time_in_the_gap_is_skipped(self) -> None:
        expected = ["2026-03-09T02:30:00-04:00"]
        start = "2026-03-08T00:00:00-05:00"
        assert fires("cron(30 2 * * ? *)", start, 1, "America/New_York") == expected

    def test_time_in_the_overlap_comes_once(self) -> None:
        for start in ("2026-11-01T00:00:00-04:00", "2026-11-01T00:59:59-04:00"):
            assert fires("cron(30 1 * * ? *)", start, 2, "America/New_York") == [
                "2026-11-01T01:30:00-04:00",
                "2026-11-02T01:30:00-05:00",
            ]
        assert fires("cron(30 1 * * ? *)", "2026-11-01T01:00:00-05:00", 1, "America/New_York") == [
            "2026-11-02T01:30:00-05:00"
        ]

    def test_times_in_every_hour_go_on_through_the_overlap(self) -> None:
        found = fires("cron(0/30 * * * ? *)", "2026-11-01T01:00:00-04:00", 3, "America/New_York")
        assert found == [
            "2026-11-01T01:30:00-04:00",
            "2026-11-01T01:00:00-05:00",
            "2026-11-01T01:30:00-05:00",
        ]

    def test_skipped_times_can_be_told(self) -> None:
        start, end = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
        skipped = parse("cron(0,30 2 * * ? *)", "America/New_York").missing(start, end)
        assert [at.isoformat() for at in skipped] == ["2026-03-08T02:00:00", "2026-03-08T02:30:00"]


class TestRate:
    def test_counts_from_the_epoch(self) -> None:
        assert fires("rate(7 minutes)", "2026-01-01T00:00:00+00:00", 2, "Asia/Tokyo") == [
            "2026-01-01T09:07:00+09:00",
            "2026-01-01T09:14:00+09:00",
        ]

    def test_counts_from_an_anchor(self) -> None:
        anchor = datetime.fromisoformat("2026-01-01T00:01:30+00:00")
        understood = parse("rate(1 hour)", anchor=anchor)
        assert understood.next(datetime(2026, 1, 1, tzinfo=UTC)) == anchor
        assert understood.next(anchor) == datetime(2026, 1, 1, 1, 1, 30, tzinfo=UTC)

    def test_a_day_has_24_hours(self) -> None:
        anchor = datetime.fromisoformat("2026-03-07T02:30:00-05:00")
        due = parse("rate(1 day)", "America/New_York", anchor=anchor).next(anchor)
        assert due is not None
        assert due.isoformat() == "2026-03-08T03:30:00-04:00"


class TestAt:
    def test_comes_once_in_the_zone(self) -> None:
        understood = parse("at(2026-12-01T02:00:00)", "Europe/Berlin")
        due = understood.next(datetime(2026, 1, 1, tzinfo=UTC))
        assert due is not None
        assert due.isoformat() == "2026-12-01T02:00:00+01:00"
        assert understood.next(due) is None
        assert understood.in_words() == "Once, on 2026-12-01 at 02:00, Europe/Berlin"

    def test_in_a_gap_comes_when_the_gap_ends(self) -> None:
        due = parse("at(2026-03-08T02:30:00)", "America/New_York").next(
            datetime(2026, 1, 1, tzinfo=UTC)
        )
        assert due is not None
        assert due.isoformat() == "2026-03-08T03:00:00-04:00"


WRONG = {
    "cron(60 2 * * ? *)": ": minute 60 is not in 0-59. (Field 1 of 6; cron(…) holds minute hour ",
    "cron(0 2 ? * 0 *)": ": weekday 0 is not in 1-7. (Field 5 of 6; ",
    "cron(0 2 ? * 8 *)": ": weekday 8 is not in 1-7. (Field 5 of 6; ",
    "cron(0 2 * * ? 1969)": ": year 1969 is not in 1970-2199. (Field 6 of 6; ",
    "cron(0 2 ? * ? *)": ": of day of month (field 3) and weekday (field 5) exactly one is '?', ",
    "cron(0 2 * * MON *)": ": of day of month (field 3) and weekday (field 5) exactly one is '?', ",
    "cron(? 2 * * ? *)": ": minute '?' is not a number. (Field 1 of 6; ",
    "cron(0 2 * * ?)": " has 5 fields. EventBridge's cron(…) has 6 (minute hour day-of-month ",
    "cron(0 0 31 4 ? *)": ": day of month 31 never comes in month 4.",
    "cron(0 0 29 2 ? 2027)": ": day of month 29 never comes in month 2 in 2027.",
    "cron(0 0 30W 2 ? *)": ": day of month 30W never comes in month 2.",
    "cron(0 2 * * ? *": " must end with the bracket that it opened.",
    "rate(0 minutes)": ": rate value 0 is not in 1 minute-100 years.",
    "rate(-1 minutes)": ": rate takes a value and a unit (minutes, hours or days), such as ",
    "rate(5 seconds)": ": rate takes a value and a unit (minutes, hours or days), such as ",
    "rate(5)": ": rate takes a value and a unit (minutes, hours or days), such as ",
    "rate(999999999 days)": ": rate value 999999999 is not in 1 minute-100 years.",
    "at(tomorrow)": ": at takes a local time such as at(2026-12-01T02:00:00), without an offset",
    "at(2026-12-01T02:00:00Z)": ": at takes a local time such as at(2026-12-01T02:00:00), ",
    "at(2026-02-30T00:00:00)": ": at(2026-02-30T00:00:00): day is out of range for month.",
    "at(2026-02-01T24:00:00)": ": at(2026-02-01T24:00:00): hour must be in 0..23",
}


@pytest.mark.parametrize(("expression", "message"), WRONG.items())
def test_errors_name_the_field(expression: str, message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        parse(expression)
    assert str(error.value).startswith(f"{expression!r}{message}")
    assert "\n" not in str(error.value)


def test_in_words_tells_the_years() -> None:
    assert parse("cron(0 9 ? * MON-FRI 2026-2028,2031)").in_words() == (
        "At 09:00 on Monday through Friday in 2026-2028, 2031, UTC"
    )
