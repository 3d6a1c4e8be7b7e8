"""The agenda of all schedules: what was recorded, what is to come, where it piles up."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from koken.engine import fire, schedules
from koken.model.schedule import Schedule
from koken.views import agenda
from koken.views.agenda import Agenda, Due, Pile, drawn
from tests.support.house import NOON, House, open_house

NUMBERS = iter(range(1, 10_000))


def row(job: str, expression: str, now: datetime, **options: Any) -> dict[str, Any]:
    """A schedule as the view reads it."""
    paused = options.pop("paused", False)
    schedule = Schedule(expression, **options)
    return {
        "id": next(NUMBERS),
        "job": job,
        "name": "1",
        "declared": json.dumps(schedule.to_json()),
        "next_at": schedule.next_after(now),
        "paused": paused,
    }


def drawn_up(now: datetime, *rows: dict[str, Any]) -> Agenda:
    return drawn(rows, [], begin=agenda.floor(now - agenda.BEHIND), now=now)


def times(found: Agenda, place: int = 0) -> list[str]:
    return [due.at.isoformat(timespec="minutes") for due in found.lines[place].dues]


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (
            datetime(2026, 3, 28, 20, tzinfo=UTC),
            [
                "2026-03-29T00:30+00:00",  # 01:30, then 02:30 is not there: 03:00 instead
                "2026-03-29T01:00+00:00",
                "2026-03-29T01:30+00:00",  # 03:30
            ],
        ),
        (
            datetime(2026, 10, 24, 20, tzinfo=UTC),
            [
                "2026-10-24T23:30+00:00",  # 01:30
                "2026-10-25T00:30+00:00",  # 02:30, the first time
                "2026-10-25T02:30+00:00",  # 03:30
            ],
        ),
        (
            datetime(2026, 6, 1, 20, tzinfo=UTC),
            ["2026-06-01T23:30+00:00", "2026-06-02T00:30+00:00", "2026-06-02T01:30+00:00"],
        ),
    ],
    ids=["clocks go forward", "clocks go back", "an ordinary night"],
)
def test_a_night_in_berlin(now: datetime, due: list[str]) -> None:
    found = drawn_up(now, row("report", "30 1,2,3 * * *", now, timezone="Europe/Berlin"))
    assert times(found) == due


def test_the_day_to_come_and_no_more() -> None:
    now = datetime(2026, 3, 10, 12, 7, tzinfo=UTC)
    found = drawn_up(now, row("a", "0 */8 * * *", now), row("b", "7 12 * * *", now))
    assert (found.begin.isoformat(), found.end.isoformat()) == (
        "2026-03-10T06:00:00+00:00",
        "2026-03-11T12:07:00+00:00",
    )
    assert times(found, 0) == [
        "2026-03-10T16:00+00:00",
        "2026-03-11T00:00+00:00",
        "2026-03-11T08:00+00:00",
    ]
    assert times(found, 1) == ["2026-03-11T12:07+00:00"]


def test_where_they_pile_up() -> None:
    now = NOON
    rows = [row(f"job {n}", "0 2 * * *", now) for n in range(7)]
    found = drawn_up(now, *rows, row("other", "14 2 * * *", now), row("last", "15 2 * * *", now))
    two = datetime(2026, 3, 11, 2, tzinfo=UTC)
    assert found.highest == Pile(at=two, count=8)
    assert [pile for pile in found.piles if pile.count] == [
        Pile(at=two, count=8),
        Pile(at=two + timedelta(minutes=15), count=1),
    ]


def test_what_is_due_every_minute_is_a_stretch() -> None:
    """It counts evenly, so that other piles stand out."""
    now = NOON
    found = drawn_up(now, row("minute", "* * * * *", now), row("report", "0 2 * * *", now))
    assert found.lines[0].dues == (
        Due(
            at=NOON + timedelta(minutes=1),
            until=NOON + timedelta(days=1),
            count=1439,
            mark=agenda.PLANNED,
            job="minute",
            often=True,
        ),
    )
    assert {pile.count for pile in found.piles if pile.at >= NOON} == {15, 16}


def test_every_half_hour_is_still_drawn_one_by_one() -> None:
    found = drawn_up(NOON, row("ads", "*/30 * * * *", NOON))
    assert len(found.lines[0].dues) == 48


def test_a_job_of_many_schedules_has_one_line_of_bounded_length() -> None:
    """Times at which several of them are due are one mark; more than can be told apart, a band."""
    twins = [row("twin", "0 2 * * *", NOON), row("twin", "0 2,3 * * *", NOON)]
    crowd = [row("crowd", f"{n} * * * *", NOON) for n in range(1, 5)]
    found = drawn_up(NOON, *crowd, *twins)
    assert [(due.count, due.often) for due in found.lines[0].dues] == [(96, True)]
    assert [(due.at.hour, due.count) for due in found.lines[1].dues] == [(2, 2), (3, 1)]


def test_a_paused_schedule_has_nothing_to_come() -> None:
    assert drawn_up(NOON, row("report", "0 2 * * *", NOON, paused=True)).lines == ()


def test_of_many_schedules_a_page_computes_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest shows its next time; the page after it knows more."""
    agenda.computed.cache_clear()
    monkeypatch.setattr(agenda, "COMPUTED", 200)
    rows = [row(f"job {n}", f"{n} * * * *", NOON) for n in range(1, 21)]
    first = drawn_up(NOON, *rows)
    assert first.rough == 12
    assert [len(line.dues) for line in first.lines] == [24] * 8 + [1] * 12
    assert drawn_up(NOON, *rows).rough == 4
    assert drawn_up(NOON, *rows).rough == 0


def test_one_that_cannot_be_computed_does_not_stop_the_others() -> None:
    broken = {**row("broken", "0 2 * * *", NOON), "declared": '{"expression": "nonsense"}'}
    assert [line.job for line in drawn_up(NOON, broken, row("sound", "0 3 * * *", NOON)).lines] == [
        "sound"
    ]


async def test_verdicts_of_the_hours_behind(database_url: str) -> None:
    async with open_house(database_url) as house:
        await recorded(house)
        found = await agenda.agenda(house.db, workspace="default", now=house.now)
    assert [line.job for line in found.lines] == ["minute", "report"]
    minute, report = found.lines
    assert [(due.count, due.mark.word) for due in minute.dues[:3]] == [
        (59, "missed"),
        (1, "started"),
        (1439, "due"),
    ]
    assert next((due.at, due.mark.word) for due in report.dues) == (
        NOON + timedelta(hours=1),
        "started",
    )
    assert len(report.dues) == 25


async def recorded(house: House) -> None:
    """An hour without a scheduler."""
    await house.job("minute", schedules=(Schedule("* * * * *"),))
    await house.job("report", schedules=(Schedule("0 * * * *"),))
    await house.job("paused", schedules=(Schedule("0 * * * *"),))
    await schedules.pause(house.db, "paused", workspace="default", by="anna", reason=None)
    await house.set_clock(NOON + timedelta(hours=1, seconds=5))
    await fire.fire(house.db)
