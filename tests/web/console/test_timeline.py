from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from koken.model.states import State
from koken.views import timeline as view
from koken.views.marks import Mark
from koken.views.steprows import StepRow
from koken.views.timeline import MOST, WAIT, Bar, Segment, Timeline
from koken.web.console.timeline import chart
from koken.web.house import House
from tests.web.console.test_run_page import ended, page

Mill = tuple[House, httpx.AsyncClient]
START = datetime(2026, 11, 30, 2, tzinfo=UTC)
FAILED, GOES = Mark("✗", "failed", "retry"), Mark("●", "running", "running")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_attempts_and_waits_have_their_places_and_are_told_in_words() -> None:
    segments = (
        Segment(start=at(0), end=at(10), mark=FAILED, attempt=1, error="OSError: \x1b[31mfull"),
        Segment(start=at(10), end=at(15), mark=WAIT),
        Segment(start=at(15), end=None, mark=GOES, attempt=2),
    )
    bar = Bar(name="load", mark=GOES, run_id=7, segments=segments)
    drawn = chart(Timeline(start=at(0), end=at(20), live=True, bars=(bar,)), at(20), UTC)
    (line,) = drawn.lines
    assert [(block.x, block.width, block.look) for block in line.blocks] == [
        (0, 50, "retry"),
        (50, 25, "wait"),
        (75, 25, "running"),
    ]
    assert line.told == (
        "attempt 1 failed, 02:00:00 to 02:00:10, 10 s: OSError: full; waited 5.0 s; "
        "attempt 2 running since 02:00:15, for 5.0 s"
    )
    assert [(tick.x, tick.text) for tick in drawn.ticks] == [
        (0, "02:00:00"),
        (25, "02:00:05"),
        (50, "02:00:10"),
        (75, "02:00:15"),
        (100, "02:00:20"),
    ]


@pytest.mark.parametrize(
    ("length", "live", "told"),
    [
        (0.0, False, ["02:00:00"]),
        (0.016, False, ["02:00:00", "+5 ms", "+10 ms"]),
        (0.67, True, ["02:00:00", "+200 ms", "+400 ms", "+600 ms", "now"]),
        (4.9, False, ["02:00:00", "+1.0 s", "+2.0 s", "+3.0 s", "+4.0 s"]),
    ],
)
def test_what_was_short_has_round_lengths_in_the_units_of_its_steps(
    length: float, live: bool, told: list[str]
) -> None:
    drawn = chart(Timeline(start=at(0), end=at(length), live=live, bars=()), at(length), UTC)
    assert [tick.text for tick in drawn.ticks] == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (26, ["02:00:00", "02:00:10", "02:00:20"]),
        (1586, ["02:00", "02:10", "02:20"]),
        (7 * 3600, ["02:00", "04:00", "06:00", "08:00"]),
        (40 * 3600, ["30 Nov 12:00", "1 Dec 00:00", "1 Dec 12:00"]),
        (9 * 86400, ["2 Dec", "4 Dec", "6 Dec", "8 Dec"]),
    ],
)
def test_marks_stand_at_round_times_of_day(seconds: int, told: list[str]) -> None:
    drawn = chart(Timeline(start=at(0), end=at(seconds), live=False, bars=()), at(seconds), UTC)
    assert [tick.text for tick in drawn.ticks] == told


def test_of_many_steps_those_that_failed_or_go_have_rows() -> None:
    row = StepRow(name="a", no=1, state=State.SUCCEEDED, started_at=START)
    rows = [replace(row, name=f"s{no}", no=no) for no in range(1, 101)]
    rows[90] = replace(rows[90], state=State.FAILED)
    found = view.chosen(rows)
    assert len(found) == MOST
    assert [each.name for each in found[:3]] == ["s91", "s1", "s2"]


async def test_the_timeline_of_a_workflow_and_of_a_plain_run(mill_house: Mill) -> None:
    house, http = mill_house
    run = await ended(house, "daily-report")
    found = await page(http, f"/runs/{run.id}")
    rows = [each for each in found.rows if each.startswith(("✓", "✗"))]
    assert [each.split()[:2] for each in rows] == [["✓succeeded", "extract"], ["✗failed", "load"]]
    label = re.findall(r'role="img" aria-label="([^"]*)"', found.source)[1]
    assert label.count("waited") == 2
    assert label.startswith("attempt 1 failed, ")
    plain = await ended(house, "plain")
    found = await page(http, f"/runs/{plain.id}")
    assert "attempt 1" in found.text
    assert "attempt 2" in found.text


def test_a_long_pause_is_folded() -> None:
    segments = (
        Segment(start=at(0), end=at(10), mark=FAILED, attempt=1),
        Segment(start=at(10), end=at(7210), mark=WAIT),
        Segment(start=at(7210), end=at(7220), mark=GOES, attempt=2, retried="retried by mira"),
    )
    bar = Bar(name="load", mark=GOES, run_id=7, segments=segments)
    drawn = chart(Timeline(start=at(0), end=at(7220), live=False, bars=(bar,)), at(7220), UTC)
    (line,) = drawn.lines
    assert [(block.x, block.width) for block in line.blocks] == [(0, 46), (46, 8), (54, 46)]
    marks = [(tick.x, tick.text) for tick in drawn.ticks]
    assert marks == [(0, "02:00:00"), (54, "2 h 00 min later")]
    assert line.told.endswith("2, retried by mira, running, 04:00:10 to 04:00:20, 10 s")
