from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import pytest

from koken.errors import DeclarationError
from koken.model import cron
from koken.model.expression import parse
from tests.model.fires import fires


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 2 * * *", ["2026-01-02T02:00:00+00:00", "2026-01-03T02:00:00+00:00"]),
        ("*/15 * * * *", ["2026-01-01T12:15:00+00:00", "2026-01-01T12:30:00+00:00"]),
        ("5/15 * * * *", ["2026-01-01T12:05:00+00:00", "2026-01-01T12:20:00+00:00"]),
        ("10-20/5,50 * * * *", ["2026-01-01T12:10:00+00:00", "2026-01-01T12:15:00+00:00"]),
        ("30 9 * * mon-fri", ["2026-01-02T09:30:00+00:00", "2026-01-05T09:30:00+00:00"]),
        ("0 0 * * 0", ["2026-01-04T00:00:00+00:00", "2026-01-11T00:00:00+00:00"]),
        ("0 0 * * 7", ["2026-01-04T00:00:00+00:00", "2026-01-11T00:00:00+00:00"]),
        ("0 0 * * sat-sun", ["2026-01-03T00:00:00+00:00", "2026-01-04T00:00:00+00:00"]),
        ("0 0 * * 1/2", ["2026-01-02T00:00:00+00:00", "2026-01-05T00:00:00+00:00"]),
        ("0 0 1 JAN,Jul *", ["2026-07-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"]),
        ("0 6 L * *", ["2026-01-31T06:00:00+00:00", "2026-02-28T06:00:00+00:00"]),
        ("0 6 LW * *", ["2026-01-30T06:00:00+00:00", "2026-02-27T06:00:00+00:00"]),
        ("0 6 15W * *", ["2026-01-15T06:00:00+00:00", "2026-02-16T06:00:00+00:00"]),
        ("0 6 1W 8 *", ["2026-08-03T06:00:00+00:00", "2027-08-02T06:00:00+00:00"]),
        ("0 6 31W * *", ["2026-01-30T06:00:00+00:00", "2026-03-31T06:00:00+00:00"]),
        ("0 6 * * 5L", ["2026-01-30T06:00:00+00:00", "2026-02-27T06:00:00+00:00"]),
        ("0 6 * * friL", ["2026-01-30T06:00:00+00:00", "2026-02-27T06:00:00+00:00"]),
        ("0 6 * * 5#3", ["2026-01-16T06:00:00+00:00", "2026-02-20T06:00:00+00:00"]),
        ("0 6 * * FRI#3,MON#1", ["2026-01-05T06:00:00+00:00", "2026-01-16T06:00:00+00:00"]),
        ("*/7 * * * * *", ["2026-01-01T12:00:07+00:00", "2026-01-01T12:00:14+00:00"]),
        ("30 0 2 * * *", ["2026-01-02T02:00:30+00:00", "2026-01-03T02:00:30+00:00"]),
        ("@hourly", ["2026-01-01T13:00:00+00:00", "2026-01-01T14:00:00+00:00"]),
        ("@daily", ["2026-01-02T00:00:00+00:00", "2026-01-03T00:00:00+00:00"]),
        ("@midnight", ["2026-01-02T00:00:00+00:00", "2026-01-03T00:00:00+00:00"]),
        ("@Weekly", ["2026-01-04T00:00:00+00:00", "2026-01-11T00:00:00+00:00"]),
        ("@monthly", ["2026-02-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00"]),
        ("@yearly", ["2027-01-01T00:00:00+00:00", "2028-01-01T00:00:00+00:00"]),
        ("@annually", ["2027-01-01T00:00:00+00:00", "2028-01-01T00:00:00+00:00"]),
        ("  0   2 * *\t* ", ["2026-01-02T02:00:00+00:00", "2026-01-03T02:00:00+00:00"]),
    ],
)
def test_fires(expression: str, expected: list[str]) -> None:
    assert fires(expression, "2026-01-01T12:00:00+00:00", 2) == expected


def test_day_of_month_or_weekday_when_both_are_given() -> None:
    assert fires("0 0 13 * 5", "2026-02-07T00:00:00+00:00", 4) == [
        "2026-02-13T00:00:00+00:00",
        "2026-02-20T00:00:00+00:00",
        "2026-02-27T00:00:00+00:00",
        "2026-03-06T00:00:00+00:00",
    ]


def test_day_of_month_and_weekday_when_one_begins_with_a_star() -> None:
    assert fires("0 0 */2 * 1", "2026-01-01T00:00:00+00:00", 2) == [
        "2026-01-05T00:00:00+00:00",
        "2026-01-19T00:00:00+00:00",
    ]


def test_fraction_of_a_second_counts_as_past() -> None:
    assert fires("* * * * *", "2026-01-01T12:00:00.000001+00:00", 1) == [
        "2026-01-01T12:01:00+00:00"
    ]
    assert fires("* * * * *", "2026-01-01T11:59:59.999999+00:00", 1) == [
        "2026-01-01T12:00:00+00:00"
    ]


class TestClockChanges:
    """New York: 2026-03-08 02:00 → 03:00, and 2026-11-01 02:00 → 01:00."""

    def test_fixed_time_in_the_gap_comes_when_the_gap_ends(self) -> None:
        expected = ["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"]
        start = "2026-03-08T00:00:00-05:00"
        assert fires("30 2 * * *", start, 2, "America/New_York") == expected
        assert fires("0 30 2 * * *", start, 2, "America/New_York") == expected

    def test_several_fixed_times_in_the_gap_come_once(self) -> None:
        assert fires("0,20,40 2,3 * * *", "2026-03-08T00:00:00-05:00", 4, "America/New_York") == [
            "2026-03-08T03:00:00-04:00",
            "2026-03-08T03:20:00-04:00",
            "2026-03-08T03:40:00-04:00",
            "2026-03-09T02:00:00-04:00",
        ]

    def test_wildcard_times_in_the_gap_do_not_come(self) -> None:
        assert fires("*/30 2 * * *", "2026-03-08T00:00:00-05:00", 1, "America/New_York") == [
            "2026-03-09T02:00:00-04:00"
        ]

    def test_fixed_time_in_the_overlap_comes_once(self) -> None:
        for expression in ("30 1 * * *", "0 30 1 * * *"):
            assert fires(expression, "2026-11-01T00:00:00-04:00", 2, "America/New_York") == [
                "2026-11-01T01:30:00-04:00",
                "2026-11-02T01:30:00-05:00",
            ]

    def test_fixed_time_is_not_due_again_in_the_second_pass(self) -> None:
        assert fires("30 1 * * *", "2026-11-01T01:10:00-05:00", 1, "America/New_York") == [
            "2026-11-02T01:30:00-05:00"
        ]

    def test_wildcard_times_in_the_overlap_come_in_both_passes(self) -> None:
        assert fires("*/30 * * * *", "2026-11-01T00:45:00-04:00", 5, "America/New_York") == [
            "2026-11-01T01:00:00-04:00",
            "2026-11-01T01:30:00-04:00",
            "2026-11-01T01:00:00-05:00",
            "2026-11-01T01:30:00-05:00",
            "2026-11-01T02:00:00-05:00",
        ]

    def test_every_minute_fires_120_times_in_the_repeated_hour(self) -> None:
        found = fires("* * * * *", "2026-11-01T00:59:00-04:00", 121, "America/New_York")
        instants = [datetime.fromisoformat(text).timestamp() for text in found]
        assert found[0] == "2026-11-01T01:00:00-04:00"
        assert found[120] == "2026-11-01T02:00:00-05:00"
        assert {b - a for a, b in pairwise(instants)} == {60.0}

    def test_every_seven_seconds_goes_on_through_the_repeated_hour(self) -> None:
        count = 120 * 9
        found = fires("*/7 * * * * *", "2026-11-01T00:59:59-04:00", count, "America/New_York")
        instants = [datetime.fromisoformat(text).timestamp() for text in found]
        assert found[0] == "2026-11-01T01:00:00-04:00"
        assert found[-1] == "2026-11-01T01:59:56-05:00"
        assert {b - a for a, b in pairwise(instants)} == {7.0, 4.0}

    def test_hourly_fires_in_both_passes(self) -> None:
        assert fires("@hourly", "2026-11-01T00:30:00-04:00", 3, "America/New_York") == [
            "2026-11-01T01:00:00-04:00",
            "2026-11-01T01:00:00-05:00",
            "2026-11-01T02:00:00-05:00",
        ]

    def test_midnight_that_does_not_exist(self) -> None:
        assert fires("@daily", "2018-11-03T12:00:00+00:00", 2, "America/Sao_Paulo") == [
            "2018-11-04T01:00:00-02:00",
            "2018-11-05T00:00:00-02:00",
        ]
        assert fires("*/20 0 * * *", "2018-11-03T12:00:00+00:00", 1, "America/Sao_Paulo") == [
            "2018-11-05T00:00:00-02:00"
        ]

    def test_half_an_hour_in_lord_howe(self) -> None:
        zone = "Australia/Lord_Howe"
        assert fires("*/15 1 * * *", "2026-04-05T01:20:00+11:00", 5, zone) == [
            "2026-04-05T01:30:00+11:00",
            "2026-04-05T01:45:00+11:00",
            "2026-04-05T01:30:00+10:30",
            "2026-04-05T01:45:00+10:30",
            "2026-04-06T01:00:00+10:30",
        ]
        assert fires("*/15 3 * * *", "2026-04-05T00:00:00+11:00", 1, zone) == [
            "2026-04-05T03:00:00+10:30"
        ]
        assert fires("15 2 * * *", "2026-10-04T00:00:00+10:30", 2, zone) == [
            "2026-10-04T02:30:00+11:00",
            "2026-10-05T02:15:00+11:00",
        ]

    def test_day_that_does_not_exist(self) -> None:
        assert fires("0 12 * * *", "2011-12-29T13:00:00-10:00", 2, "Pacific/Apia") == [
            "2011-12-31T00:00:00+14:00",
            "2011-12-31T12:00:00+14:00",
        ]


class TestLeapDay:
    """bug-075."""

    def test_comes_in_leap_years(self) -> None:
        assert fires("0 0 29 2 *", "2024-02-29T00:00:00+00:00", 2) == [
            "2028-02-29T00:00:00+00:00",
            "2032-02-29T00:00:00+00:00",
        ]

    def test_may_be_eight_years_away(self) -> None:
        for zone in ("UTC", "America/New_York"):
            found = fires("*/30 0 29 2 *", "2097-01-01T00:00:00+00:00", 1, zone)
            assert found[0].startswith("2104-02-29T00:00:00")

    @pytest.mark.parametrize("expression", ["* * * * *", "0 2 * * *", "0 0 1 * *", "0 0 L 2 *"])
    def test_asking_on_a_leap_day(self, expression: str) -> None:
        assert parse(expression).next(datetime.fromisoformat("2024-02-29T23:59:59+00:00"))

    def test_fifth_friday_of_february(self) -> None:
        assert fires("0 0 * 2 5#5", "2026-01-01T00:00:00+00:00", 1) == ["2036-02-29T00:00:00+00:00"]


IMPOSSIBLE = {
    "0 0 31 4 *": "day of month 31 never comes in month 4.",
    "0 0 30 2 *": "day of month 30 never comes in month 2.",
    "0 0 31 2,4,6,9,11 *": "day of month 31 never comes in month 2,4,6,9,11.",
    "0 0 31W 2 *": "day of month 31W never comes in month 2.",
    "0 0 */28 2 MON#2": "day of month */28 never comes in month 2 on weekday 1#2.",
}

WRONG = {
    "60 * * * *": "minute 60 is not in 0-59. (Field 1 of 5; ",
    "30 25 * * *": "hour 25 is not in 0-23. (Field 2 of 5; ",
    "0 0 0 * *": "day of month 0 is not in 1-31. (Field 3 of 5; ",
    "0 0 1 13 *": "month 13 is not in 1-12. (Field 4 of 5; ",
    "0 0 * * 8": "weekday 8 is not in 0-7. (Field 5 of 5; ",
    "61 * * * * *": "second 61 is not in 0-59. (Field 1 of 6, seconds first; ",
    "0 0 1 foo *": "month 'FOO' is not a number or a name like FEB. (Field 4 of 5; ",
    "x * * * *": "minute 'X' is not a number. (Field 1 of 5; ",
    "\uff11 * * * *": "minute '\uff11' is not a number. (Field 1 of 5; ",
    "*/0 * * * *": "minute step 0 is not in 1-60. (Field 1 of 5; ",
    "*/90 * * * *": "minute step 90 is not in 1-60. (Field 1 of 5; ",
    "*/x * * * *": "minute step 'X' is not a number. (Field 1 of 5; ",
    "0 22-2 * * *": "hour range 22-2 runs backwards; write it as two, with a comma. (Field 2 of",
    "1,,2 * * * *": "minute has nothing between two commas. (Field 1 of 5; ",
    "0 0 L-3 * *": "day of month 'L-3' is not a day; the last one is L, its last weekday LW. (",
    "0 0 32W * *": "day of month 32 is not in 1-31. (Field 3 of 5; ",
    "0 0 * * L": "weekday 'L' needs a day: 5L is the last Friday of the month. (Field 5 of 5; ",
    "0 0 * * 5#6": "weekday 5#6: the number after '#' is not in 1-5. (Field 5 of 5; ",
    "0 0 1W,5 * *": "day of month 1W,5 (the nearest weekday) stands alone, without a list",
    "0 0 1W * 1": "day of month 1W (the nearest weekday) stands alone, without a list",
    "0 2 * * ? *": "'?' belongs to EventBridge, whose six fields go in cron(0 2 * * ? *).",
}


class TestErrors:
    def test_word_for_word(self) -> None:
        with pytest.raises(DeclarationError) as error:
            parse("30 25 * * *")
        assert str(error.value) == (
            "'30 25 * * *': hour 25 is not in 0-23. "
            "(Field 2 of 5; EventBridge's six fields go in cron(…).)"
        )

    @pytest.mark.parametrize(("expression", "message"), (WRONG | IMPOSSIBLE).items())
    def test_name_the_field(self, expression: str, message: str) -> None:
        with pytest.raises(DeclarationError) as error:
            parse(expression)
        assert str(error.value).startswith(f"{expression!r}: {message}")
        assert "\n" not in str(error.value)

    @pytest.mark.parametrize(
        ("expression", "found"), [("0 2 * *", "4 fields"), ("90", "1 field"), ("5 min", "2 fields")]
    )
    def test_number_of_fields(self, expression: str, found: str) -> None:
        with pytest.raises(DeclarationError) as error:
            parse(expression)
        assert str(error.value) == (
            f"{expression!r} has {found}. Cron has 5 (minute hour day-of-month month weekday), or "
            "6 with seconds first. Others are cron(…), rate(…) and at(…) of EventBridge, '@daily', "
            "'90s' and 'every day at 2am'."
        )

    def test_unknown_macro(self) -> None:
        with pytest.raises(DeclarationError, match="'@reboot' is none of @yearly, @annually, "):
            parse("@reboot")


@pytest.mark.parametrize(
    ("year", "month", "day", "expected"),
    [
        (2026, 1, 15, 15),
        (2026, 2, 15, 16),
        (2026, 8, 15, 14),
        (2026, 8, 1, 3),
        (2026, 5, 31, 29),
        (2026, 2, 30, None),
    ],
)
def test_nearest_weekday(year: int, month: int, day: int, expected: int | None) -> None:
    assert cron.nearest_weekday(year, month, day) == expected


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 2 * * *", "At 02:00 every day, UTC"),
        ("0 6 15W * *", "At 06:00 on the weekday nearest to day 15 of every month, UTC"),
        ("@hourly", "At the start of every hour, UTC"),
        ("*/30 * * * *", "Every 30 minutes, UTC"),
        ("0,30 * * * 1-5", "Every 30 minutes on Monday through Friday, UTC"),
        ("*/45 * * * *", "At minutes 0 and 45 of every hour, UTC"),
        ("*/7 * * * *", "Every 7 minutes from minute 0 through 56 of every hour, UTC"),
        ("3-59/5 * * * *", "Every 5 minutes from minute 3 of every hour, UTC"),
        ("*/10 * * 3 *", "Every 10 minutes in March, UTC"),
        ("*/15 9-17 * * *", "Every 15 minutes from 09:00 through 17:45, UTC"),
        ("*/5 */2 * * *", "Every 5 minutes past every second hour, UTC"),
        ("*/10 * * * * *", "Every 10 seconds, UTC"),
        ("1/2 * * * * *", "Every 2 seconds from second 1 of every minute, UTC"),
        ("*/30 */2 * * * *", "Every 30 seconds every second minute past every hour, UTC"),
        ("0 */2 * * *", "Every 2 hours, UTC"),
        ("30 1/2 * * *", "Every 2 hours from 01:30, UTC"),
        ("0 */5 * * *", "Every 5 hours from 00:00 through 20:00, UTC"),
        ("0 9-17 * * 1", "Every hour from 09:00 through 17:00 on Monday, UTC"),
        ("0 */12 * * *", "At 00:00 and 12:00 every day, UTC"),
        ("0 0 1 */3 *", "At 00:00 on the first day of January, April, July, and October, UTC"),
        ("0 0 * * 1-5/2", "At 00:00 on Monday, Wednesday, and Friday, UTC"),
        ("0 0 */2 * 1", "At 00:00 on every second day of the month if it's on Monday, UTC"),
        ("0 2 21 * *", "At 02:00 on the 21st day of every month, UTC"),
    ],
)
def test_in_words(expression: str, words: str) -> None:
    assert parse(expression).in_words() == words
