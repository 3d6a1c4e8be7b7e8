from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koken.errors import DeclarationError
from koken.model.schedule import Catchup, Schedule

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def due_texts(schedule: Schedule, after: datetime, until: datetime, limit: int = 50) -> list[str]:
    return [due.isoformat() for due in schedule.due_between(after, until, limit)]


class TestBirth:
    def test_defaults(self) -> None:
        schedule = Schedule("0 2 * * *")
        assert (schedule.timezone, schedule.zone, schedule.args) == (None, "UTC", {})
        assert (schedule.catchup, schedule.catchup_limit) == (Catchup.LATEST, 100)
        assert (schedule.starts_at, schedule.ends_at) == (None, None)
        assert (schedule.name, schedule.jitter, schedule.suspend) == ("", 0.0, ())

    def test_options_in_their_spellings(self) -> None:
        schedule = Schedule(
            "0 2 * * *",
            catchup="all",
            jitter="5m",
            suspend="* * * 12 *",
            starts_at=at("2026-01-01T00:00:00+09:00"),
        )
        assert schedule.catchup is Catchup.ALL
        assert schedule.jitter == 300.0
        assert schedule.suspend == ("* * * 12 *",)
        assert schedule.starts_at == at("2025-12-31T15:00:00+00:00")

    def test_is_a_value(self) -> None:
        one, same = Schedule("0 2 * * *", args={"day": 1}), Schedule("0 2 * * *", args={"day": 1})
        assert one == same
        assert hash(one) == hash(same)
        assert one != Schedule("0 2 * * *", args={"day": 2})
        assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
        with pytest.raises(AttributeError):
            one.name = "other"  # type: ignore[misc]

    def test_keeps_its_own_arguments(self) -> None:
        args = {"day": 1}
        schedule = Schedule("0 2 * * *", args=args)
        args["day"] = 2
        assert schedule.args == {"day": 1}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"expression": "30 25 * * *"}, "'30 25 * * *': hour 25 is not in 0-23. (Field 2 of 5"),
            ({"timezone": "Mars/Base"}, "timezone 'Mars/Base' is no IANA time zone."),
            ({"catchup": "some"}, "catchup 'some' is none of none, latest, all, coalesce."),
            ({"catchup_limit": 0}, "catchup_limit is 0; write a whole number above 0."),
            ({"catchup_limit": True}, "catchup_limit is True; write a whole number above 0."),
            ({"catchup_limit": 10_001}, "catchup_limit is 10001; the most is 10,000."),
            ({"jitter": "soon"}, "jitter is 'soon'; write it as '90s'"),
            ({"jitter": -1}, "jitter is -1; a duration is finite and not negative."),
            ({"starts_at": datetime(2026, 1, 1)}, "starts_at is datetime.datetime(2026, 1, 1, 0, "),
            ({"ends_at": "soon"}, "ends_at is 'soon'; write an instant with its offset, such as "),
            ({"starts_at": START, "ends_at": START}, "ends_at 2026-01-01T00:00:00+00:00 is not "),
            ({"suspend": ["61 * * * *"]}, "'61 * * * *': minute 61 is not in 0-59."),
            ({"name": None}, "name is None; write a text."),
            ({"args": {"day": START}}, "args['day'] is datetime; give what JSON can hold: text, "),
            ({"args": {"x": [float("nan")]}}, "args['x'] is list; give what JSON can hold: text, "),
            ({"args": {1: "x"}}, "args[1] is str; give what JSON can hold: text, "),
        ],
    )
    def test_errors_name_the_option(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(DeclarationError) as error:
            Schedule(**({"expression": "0 2 * * *"} | options))
        assert str(error.value).startswith(message)

    def test_refuses_two_zones(self) -> None:
        with pytest.raises(DeclarationError) as error:
            Schedule("every day at 2am in Asia/Tokyo", timezone="Europe/Berlin")
        assert str(error.value) == (
            "'every day at 2am in Asia/Tokyo' names Asia/Tokyo, and timezone is 'Europe/Berlin'. "
            "Keep one of them."
        )

    @pytest.mark.parametrize("suspend", ["* * * * *", ["* 0-11 * * *", "0-30 * * * *"], "5m"])
    def test_refuses_a_suspension_of_everything(self, suspend: str | list[str]) -> None:
        with pytest.raises(DeclarationError) as error:
            Schedule("0 2 * * *", timezone="America/New_York", suspend=suspend)
        assert "takes out every time of '0 2 * * *'" in str(error.value)


class TestZone:
    def test_of_the_job_holds_where_there_is_no_other(self) -> None:
        assert Schedule("0 2 * * *").in_zone("Asia/Tokyo").zone == "Asia/Tokyo"
        assert Schedule("0 2 * * *", timezone="UTC").in_zone("Asia/Tokyo").zone == "UTC"
        spoken = Schedule("every day at 2am in Europe/Berlin")
        assert spoken.in_zone("Asia/Tokyo").zone == "Europe/Berlin"

    def test_due_times_come_in_it(self) -> None:
        due = Schedule("0 2 * * *", timezone="Asia/Tokyo").next_after(START)
        assert due is not None
        assert due.isoformat() == "2026-01-02T02:00:00+09:00"


class TestWindow:
    def test_holds_its_start_and_not_its_end(self) -> None:
        schedule = Schedule(
            "0 2 * * *",
            starts_at=at("2026-01-05T02:00:00+00:00"),
            ends_at=at("2026-01-07T02:00:00+00:00"),
        )
        assert due_texts(schedule, START, at("2027-01-01T00:00:00+00:00")) == [
            "2026-01-05T02:00:00+00:00",
            "2026-01-06T02:00:00+00:00",
        ]

    def test_intervals_count_from_its_start(self) -> None:
        schedule = Schedule("40m", starts_at=at("2026-01-05T02:11:00+00:00"))
        assert due_texts(schedule, START, at("2026-01-05T03:31:00+00:00")) == [
            "2026-01-05T02:11:00+00:00",
            "2026-01-05T02:51:00+00:00",
            "2026-01-05T03:31:00+00:00",
        ]

    def test_refuses_naive_instants(self) -> None:
        with pytest.raises(ValueError, match="instant is naive"):
            Schedule("0 2 * * *").next_after(datetime(2026, 1, 1))


class TestSuspend:
    def test_takes_out_equal_times(self) -> None:
        schedule = Schedule("0 2 * * *", suspend=["0 2 * * sat,sun", "0 2 6 1 *"])
        assert due_texts(schedule, START, at("2026-01-08T00:00:00+00:00")) == [
            "2026-01-01T02:00:00+00:00",
            "2026-01-02T02:00:00+00:00",
            "2026-01-05T02:00:00+00:00",
            "2026-01-07T02:00:00+00:00",
        ]

    def test_leaves_other_minutes_alone(self) -> None:
        schedule = Schedule("0,1 2 * * *", suspend="0 2 * * *")
        assert due_texts(schedule, START, at("2026-01-02T00:00:00+00:00")) == [
            "2026-01-01T02:01:00+00:00"
        ]

    def test_takes_out_every_second_of_its_minutes(self) -> None:
        schedule = Schedule("*/20 * * * * *", suspend="* 2 * * *")
        assert due_texts(schedule, at("2026-01-01T01:59:30+00:00"), START + timedelta(hours=3)) == [
            "2026-01-01T01:59:40+00:00",
            "2026-01-01T03:00:00+00:00",
        ]

    def test_goes_by_the_clock_on_the_wall(self) -> None:
        schedule = Schedule("*/30 * * * *", timezone="America/New_York", suspend="30 1 * * *")
        after, until = at("2026-11-01T00:30:00-04:00"), at("2026-11-01T02:00:00-05:00")
        assert due_texts(schedule, after, until) == [
            "2026-11-01T01:00:00-04:00",
            "2026-11-01T01:00:00-05:00",
            "2026-11-01T02:00:00-05:00",
        ]

    @pytest.mark.parametrize(
        ("suspend", "expected"),
        [("* 2 * * *", ["2026-03-08T03:00:00-04:00"]), ("* 3 * * *", [])],
    )
    def test_judges_a_shifted_time_where_it_really_is(
        self, suspend: str, expected: list[str]
    ) -> None:
        schedule = Schedule("30 2,4 * * *", timezone="America/New_York", suspend=suspend)
        after, until = at("2026-03-08T00:00:00-05:00"), at("2026-03-08T04:00:00-04:00")
        assert due_texts(schedule, after, until) == expected

    def test_long_stretches(self) -> None:
        schedule = Schedule("*/10 * * * * *", suspend="* * * 1-11 *")
        due = schedule.next_after(START)
        assert due == at("2026-12-01T00:00:00+00:00")

    def test_that_leave_nothing_from_some_day_on_are_told(self) -> None:
        schedule = Schedule("0 2 * * *", suspend="cron(* * * * ? 2027-2199)")
        assert schedule.next_after(at("2026-12-31T00:00:00+00:00")) == at(
            "2026-12-31T02:00:00+00:00"
        )
        with pytest.raises(DeclarationError, match="takes out every time of"):
            schedule.next_after(at("2026-12-31T02:00:00+00:00"))

    def test_of_the_only_time_is_refused(self) -> None:
        with pytest.raises(DeclarationError, match="takes out every time of"):
            Schedule("at(2026-12-01T02:00:00)", suspend="* * 1 12 *")

    def test_in_every_dialect(self) -> None:
        for suspend in (
            "cron(0 0-11 * * ? *)",
            "every day at 0:00, 1:00, 2:00, 3:00, 4:00, 5:00, 6:00, 7:00, 8:00, 9:00, 10:00, 11:00",
            "every 1 hour from 0:00 to 11:00",
        ):
            assert Schedule("0 * * * *", suspend=suspend).next_after(START) == at(
                "2026-01-01T12:00:00+00:00"
            )
        for suspend in ("at(2026-01-01T01:00:00)", "25h", "rate(25 hours)"):
            schedule = Schedule("0 * * * *", suspend=suspend, starts_at=START - timedelta(hours=24))
            assert schedule.next_after(START) == at("2026-01-01T02:00:00+00:00")


class TestDueBetween:
    def test_oldest_first_up_to_a_limit(self) -> None:
        schedule = Schedule("* * * * *")
        found = schedule.due_between(START, START + timedelta(hours=6), 1000)
        assert len(found) == 360
        assert found[0] == START + timedelta(minutes=1)
        assert found[-1] == START + timedelta(hours=6)
        assert schedule.due_between(START, START + timedelta(hours=6), 2) == found[:2]
        assert schedule.due_between(START, START, 5) == []
        assert schedule.due_between(START, START + timedelta(hours=6), 0) == []

    def test_through_the_repeated_hour(self) -> None:
        schedule = Schedule("* * * * *", timezone="America/New_York")
        after, until = at("2026-11-01T00:59:00-04:00"), at("2026-11-01T01:59:00-05:00")
        found = [due.astimezone(UTC) for due in schedule.due_between(after, until, 1000)]
        assert len(found) == 120
        assert {b - a for a, b in pairwise(found)} == {timedelta(minutes=1)}


@given(
    expression=st.sampled_from(["*/7 * * * * *", "30 1 * * *", "90s", "*/20 1-3 * * *"]),
    start=st.datetimes(datetime(2026, 10, 31), datetime(2026, 11, 3), timezones=st.just(UTC)),
    length=st.integers(0, 8 * 3600),
)
@settings(deadline=None, max_examples=60)
def test_latest_due_is_the_last_of_all(expression: str, start: datetime, length: int) -> None:
    schedule = Schedule(expression, timezone="America/New_York", suspend="* 6 * * *")
    until = start + timedelta(seconds=length)
    found = schedule.due_between(start, until, 10_000)
    latest = schedule.latest_due(start, until)
    assert (latest and latest.astimezone(UTC)) == (found[-1].astimezone(UTC) if found else None)


def test_missing_between_tells_skipped_times() -> None:
    schedule = Schedule("cron(30 2 * * ? *)", timezone="America/New_York")
    assert schedule.missing_between(START, at("2027-01-01T00:00:00+00:00")) == [
        datetime(2026, 3, 8, 2, 30)
    ]


class TestJitter:
    def test_is_the_same_everywhere_and_in_its_range(self) -> None:
        schedule = Schedule("0 * * * *", jitter="10m")
        due = schedule.due_between(START, START + timedelta(days=10), 200)
        offsets = [schedule.jitter_offset(one, key="report") for one in due]
        assert offsets == [schedule.jitter_offset(one.astimezone(UTC), key="report") for one in due]
        assert all(timedelta(0) <= offset < timedelta(minutes=10) for offset in offsets)
        assert len(set(offsets)) == len(offsets)
        assert max(offsets) - min(offsets) > timedelta(minutes=5)

    def test_differs_by_key(self) -> None:
        schedule = Schedule("0 * * * *", jitter="10m")
        assert schedule.jitter_offset(START, key="a") != schedule.jitter_offset(START, key="b")

    def test_is_nothing_unless_asked_for(self) -> None:
        assert Schedule("0 * * * *").jitter_offset(START) == timedelta(0)

    def test_is_no_part_of_the_due_time(self) -> None:
        assert Schedule("0 2 * * *", jitter="1h").next_after(START) == at(
            "2026-01-01T02:00:00+00:00"
        )


class TestJson:
    FULL = Schedule(
        "0 2 * * *",
        timezone="Europe/Berlin",
        args={"day": "{logical_time:%Y-%m-%d}", "deep": {"list": [1, 2.5, None, True]}},
        name="night",
        catchup="coalesce",
        catchup_limit=7,
        starts_at=at("2026-01-01T00:00:00+01:00"),
        ends_at=at("2027-01-01T00:00:00+01:00"),
        jitter="90s",
        suspend=["* * 24-26 12 *"],
    )

    def test_round_trip(self) -> None:
        for schedule in (self.FULL, Schedule("every day at 2am in Asia/Tokyo")):
            text = json.dumps(schedule.to_json())
            assert Schedule.from_json(json.loads(text)) == schedule

    def test_is_plain(self) -> None:
        assert self.FULL.to_json() == {
            "expression": "0 2 * * *",
            "timezone": "Europe/Berlin",
            "args": {"day": "{logical_time:%Y-%m-%d}", "deep": {"list": [1, 2.5, None, True]}},
            "name": "night",
            "catchup": "coalesce",
            "catchup_limit": 7,
            "starts_at": "2025-12-31T23:00:00+00:00",
            "ends_at": "2026-12-31T23:00:00+00:00",
            "jitter": 90.0,
            "suspend": ["* * 24-26 12 *"],
        }

    def test_what_is_left_out_has_its_default(self) -> None:
        assert Schedule.from_json({"expression": "5m"}) == Schedule("5m")

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ({"expression": "5m", "cron": "x"}, "schedule has no option 'cron'; it has expression"),
            ({}, "schedule has no expression. Write expression: '0 2 * * *'."),
            ({"expression": "5m", "starts_at": "soon"}, "starts_at is 'soon'; write an instant "),
        ],
    )
    def test_refuses_what_it_does_not_know(self, value: dict[str, Any], message: str) -> None:
        with pytest.raises(DeclarationError) as error:
            Schedule.from_json(value)
        assert str(error.value).startswith(message)


def test_in_words() -> None:
    assert TestJson.FULL.in_words() == (
        "At 02:00 every day, Europe/Berlin, from 2026-01-01 00:00, until 2027-01-01 00:00, "
        "up to 2 min later, except * * 24-26 12 *"
    )
    assert Schedule("90s").in_words() == "Every 1 min 30 s"
