from __future__ import annotations

from datetime import UTC, datetime

import pytest

from koken.errors import DeclarationError
from koken.model.expression import parse
from tests.model.fires import fires


@pytest.mark.parametrize(
    ("english", "cron"),
    [
        ("every day at 2am", "0 2 * * *"),
        ("Every Day at 2:30 PM", "30 14 * * *"),
        ("every day at 12am", "0 0 * * *"),
        ("every day at 12 p.m.", "0 12 * * *"),
        ("every day at noon", "0 12 * * *"),
        ("every day at midnight", "0 0 * * *"),
        ("every weekday at 9:30", "30 9 * * 1-5"),
        ("every weekend at 10:00", "0 10 * * 0,6"),
        ("every monday at 9am", "0 9 * * 1"),
        ("every monday and friday at 9am and 5pm", "0 9,17 * * 1,5"),
        ("every monday, wednesday, and friday at 9:00", "0 9 * * 1,3,5"),
        ("every month on the 1st at 9:00", "0 9 1 * *"),
        ("every month on the first monday at 9:00", "0 9 * * 1#1"),
        ("every month on the last day at 18:00", "0 18 L * *"),
        ("every year on feb 29 at 09:00", "0 9 29 2 *"),
        ("every day at 9:00 during jan, feb", "0 9 * 1-2 *"),
        ("every minute", "* * * * *"),
        ("every 15 minutes", "*/15 * * * *"),
        ("every hour", "0 * * * *"),
        ("every 6 hours", "0 0,6,12,18 * * *"),
        ("every second", "* * * * * *"),
        ("every 20 seconds", "*/20 * * * * *"),
    ],
)
@pytest.mark.parametrize(
    "after",
    ["2026-01-01T11:22:33+00:00", "2026-03-08T06:00:00+00:00", "2026-11-01T04:45:00+00:00"],
)
def test_means_the_same_as_cron(english: str, cron: str, after: str) -> None:
    zone = "America/New_York"
    assert fires(english, after, 12, zone) == fires(cron, after, 12, zone)


def test_names_its_zone() -> None:
    understood = parse("every day at 2am in Asia/Tokyo", "America/New_York")
    assert (understood.timezone, understood.names_zone) == ("Asia/Tokyo", True)
    due = understood.next(datetime(2026, 1, 1, tzinfo=UTC))
    assert due is not None
    assert due.isoformat() == "2026-01-02T02:00:00+09:00"


def test_repeats_in_its_zone() -> None:
    understood = parse("every 2 hours in Asia/Kolkata")
    due = understood.next(datetime(2026, 1, 1, tzinfo=UTC))
    assert due is not None
    assert due.isoformat() == "2026-01-01T06:00:00+05:30"


def test_uneven_steps_count_elapsed_time() -> None:
    assert fires("every 45 minutes", "2026-11-01T04:45:00+00:00", 3, "America/New_York") == [
        "2026-11-01T01:15:00-04:00",
        "2026-11-01T01:00:00-05:00",
        "2026-11-01T01:45:00-05:00",
    ]
    anchor = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
    due = parse("every 45 minutes", anchor=anchor).next(anchor)
    assert due == datetime(2026, 1, 1, 0, 55, tzinfo=UTC)


def test_hours_are_not_lost_in_the_gap() -> None:
    assert fires("every 2 hours", "2026-03-08T00:00:00-05:00", 2, "America/New_York") == [
        "2026-03-08T03:00:00-04:00",
        "2026-03-08T04:00:00-04:00",
    ]


class TestWhatCronCannotSay:
    def test_every_other_week(self) -> None:
        expression = "every 2 weeks on monday at 9am"
        assert fires(expression, "2026-10-20T00:00:00+00:00", 3, "America/New_York") == [
            "2026-10-26T09:00:00-04:00",
            "2026-11-09T09:00:00-05:00",
            "2026-11-23T09:00:00-05:00",
        ]

    def test_exceptions_and_an_end(self) -> None:
        understood = parse("every day at 02:00 except dec 25 until 2026-12-26")
        assert understood.next(datetime(2026, 12, 24, 2, tzinfo=UTC)) == datetime(
            2026, 12, 26, 2, tzinfo=UTC
        )
        assert understood.next(datetime(2026, 12, 26, 2, tzinfo=UTC)) is None

    def test_one_date(self) -> None:
        understood = parse("on 2026-02-14 at 9:00")
        assert understood.next(datetime(2026, 1, 1, tzinfo=UTC)) == datetime(
            2026, 2, 14, 9, tzinfo=UTC
        )

    def test_same_rule_in_the_gap_as_cron(self) -> None:
        expression = "every 2 days at 02:30 starting 2026-03-06"
        assert fires(expression, "2026-03-06T12:00:00+00:00", 2, "America/New_York") == [
            "2026-03-08T03:00:00-04:00",
            "2026-03-10T02:30:00-04:00",
        ]

    def test_same_rule_in_the_overlap_as_cron(self) -> None:
        expression = "every 20 min from 1:00 to 2:30"
        assert fires(expression, "2026-11-01T00:59:00-04:00", 9, "America/New_York") == [
            "2026-11-01T01:00:00-04:00",
            "2026-11-01T01:20:00-04:00",
            "2026-11-01T01:40:00-04:00",
            "2026-11-01T01:00:00-05:00",
            "2026-11-01T01:20:00-05:00",
            "2026-11-01T01:40:00-05:00",
            "2026-11-01T02:00:00-05:00",
            "2026-11-01T02:20:00-05:00",
            "2026-11-02T01:00:00-05:00",
        ]


WEEKDAYS = "every weekday at 9:30"
WRONG = {
    "every dya at 2am": "unknown keyword 'dya'",
    "every day": "expected 'at', got end of input",
    "every day at 25:00": "time must be 00:00-23:59, got 25:00",
    "on feb 30 at 9:00": "day must be 1-29 for feb, got 30",
    "every year on apr 31 at 9:00": "day must be 1-30 for apr, got 31",
    "every day at 2am in Mars/Base": "timezone must be UTC or an Area/Location name",
    "every 0 minutes": "an interval is between 1 second and 100 years.",
    "nightly": "unknown keyword 'nightly'",
}


@pytest.mark.parametrize(("expression", "reason"), WRONG.items())
def test_errors_give_the_reason_in_one_line(expression: str, reason: str) -> None:
    with pytest.raises(DeclarationError) as error:
        parse(expression)
    assert str(error.value).startswith(f"{expression!r}: {reason}")
    assert "\n" not in str(error.value)


def test_errors_show_what_english_looks_like() -> None:
    with pytest.raises(DeclarationError, match=r"which looks like 'every day at 2am', "):
        parse("whenever you like")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("every weekday at 9:30", "At 09:30 on Monday through Friday, UTC"),
        ("every 2 weeks on monday at 9am", "Every 2 weeks on monday at 09:00, UTC"),
        ("every 45 minutes", "Every 45 min"),
        ("every day at 2am in Asia/Tokyo", "At 02:00 every day, Asia/Tokyo"),
    ],
)
def test_in_words(expression: str, words: str) -> None:
    assert parse(expression).in_words() == words


def test_many_blanks_are_one() -> None:
    blanks = " " * 2_000
    assert parse(f"every weekday{blanks}at 9:30").in_words() == parse(WEEKDAYS).in_words()
    with pytest.raises(DeclarationError):
        parse(f"every day at noon{blanks}x")
