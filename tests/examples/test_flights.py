"""``examples/flights``: the report on real data, the job with its retries, and the pages."""

from __future__ import annotations

import gzip
import logging
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pytest

import koken
from examples.flights import jobs, report
from examples.flights.page import headline, page, picture, publish
from examples.flights.report import DATA, BadRow, Day, Flight, check, file_of, read
from koken.testing import TestClient, call

CALM = date(2013, 2, 7)
STORM = date(2013, 2, 8)
ROW = {
    "carrier": "UA",
    "origin": "EWR",
    "dest": "IAH",
    "hour": "5",
    "dep_time": "517",
    "arr_time": "830",
    "arr_delay": "11",
}


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty inbox and an empty folder of reports."""
    monkeypatch.setattr(jobs, "INBOX", tmp_path / "inbox")
    monkeypatch.setattr(jobs, "REPORTS", tmp_path / "reports")
    (tmp_path / "inbox").mkdir()
    return tmp_path


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(jobs.app) as client:
        yield client


def deliver(day: date, share: float = 1.0) -> None:
    """The airline brings a file, or a part of it."""
    whole = file_of(DATA, day).read_bytes()
    file_of(jobs.INBOX, day).write_bytes(whole[: int(len(whole) * share)])


def counted(day: date) -> Day:
    """A day of the data, counted."""
    found = Day(day)
    for row in read(file_of(DATA, day)):
        flight = check(row)
        if isinstance(flight, BadRow):
            found.count_bad(flight)
        else:
            found.count(flight)
    return found


def test_storm_in_numbers() -> None:
    day = counted(STORM)
    assert (day.flights, day.bad_rows, round(day.mean_delay, 1)) == (455, 475, 24.2)
    assert day.reasons == {
        "no departure time": 472,
        "no arrival time": 2,
        "no arrival delay": 1,
    }
    assert headline(day) == (
        "472 of 930 flights never left; those that came were 24 min late on average."
    )
    assert day.hours[18] == {"bad row": 63}
    assert day.airlines["B6"].bad > 50


def test_all_days_can_be_read() -> None:
    days = [counted(day) for day in sorted(report.days_in(DATA, ".csv.gz"))]
    assert len(days) == 14
    assert sum(day.flights + day.bad_rows for day in days) == 12_451


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dep_time": "NA", "arr_time": "NA", "arr_delay": "NA"}, "no departure time"),
        ({"arr_time": "NA", "arr_delay": "NA"}, "no arrival time"),
        ({"arr_delay": "NA"}, "no arrival delay"),
        ({"dep_time": "soon"}, "dep_time is 'soon'"),
        ({"dep_time": "2401"}, "dep_time is '2401'"),
        ({"carrier": ""}, "carrier is ''"),
        ({"hour": "24"}, "hour is '24'"),
    ],
)
def test_bad_rows_say_why(change: dict[str, str], reason: str) -> None:
    found = check({**ROW, **change})
    assert isinstance(found, BadRow)
    assert found.reason == reason


@pytest.mark.parametrize(
    ("delay", "kind"), [("-3", "on time"), ("15", "on time"), ("16", "late"), ("61", "very late")]
)
def test_kinds(delay: str, kind: str) -> None:
    found = check({**ROW, "arr_delay": delay})
    assert isinstance(found, Flight)
    assert found.kind == kind


def test_picture_is_a_picture() -> None:
    root = ET.fromstring(picture(counted(STORM)))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "63 bad row" in titles


def test_day_without_flights_has_a_page() -> None:
    empty = Day(CALM)
    assert headline(empty) == "0 flights came on time on average."
    assert "<h1>Thursday, 7 February 2013</h1>" in page(empty, {})
    ET.fromstring(picture(empty))


def test_same_day_gives_the_same_files(tmp_path: Path) -> None:
    first = publish(counted(CALM), report.airline_names(), tmp_path / "a")
    second = publish(counted(CALM), report.airline_names(), tmp_path / "b")
    for file in ("2013-02-07.html", "2013-02-07.svg"):
        assert (first.parent / file).read_bytes() == (second.parent / file).read_bytes()
    assert sorted(file.name for file in first.parent.iterdir()) == [
        "2013-02-07.html",
        "2013-02-07.svg",
    ]
    assert "JetBlue Airways" in first.read_text()


def test_body_alone(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    deliver(CALM)
    with caplog.at_level(logging.INFO):
        found = call(jobs.delay_report, day=CALM)
    assert (found.flights, found.bad_rows, found.mean_delay) == (925, 7, 2.1)
    assert found.page.read_text().startswith("<!doctype html>")
    assert "no departure time: 4 left out" in caplog.text
    assert capsys.readouterr().out == f"wrote {found.page}\n"


def test_oldest_day_first_then_nothing() -> None:
    deliver(STORM)
    deliver(CALM)
    assert [call(jobs.delay_report).day, call(jobs.delay_report).day] == [CALM, STORM]
    with pytest.raises(koken.Skip, match="every day that was delivered has its report"):
        call(jobs.delay_report)


def test_broken_gzip_is_an_error() -> None:
    deliver(CALM, share=0.5)
    with pytest.raises(EOFError, match="end-of-stream"):
        call(jobs.delay_report)
    assert not jobs.REPORTS.exists()


def test_schedule_fires_in_new_york(client: TestClient) -> None:
    deliver(CALM)
    client.now = datetime.fromisoformat("2026-03-08T06:29:00-04:00")
    (run,) = client.advance("1m")
    assert (run.job, run.state, run.trigger.kind) == ("delay_report", "succeeded", "schedule")
    assert run.logical_time == datetime.fromisoformat("2026-03-08T06:30:00-04:00")
    assert run.queue == "reports"


def test_retry_heals_and_keeps_to_the_day(client: TestClient) -> None:
    deliver(STORM, share=0.5)
    run = client.run(jobs.delay_report)
    assert (run.state, run.attempt) == ("waiting", 1)
    assert run.reason.startswith("EOFError: Compressed file ended")
    deliver(CALM)  # older: a choice made anew would fall on it
    deliver(STORM)
    result = client.result(run)
    assert (result.day, result.bad_rows) == (STORM, 475)
    assert client.attempts(run) == 2
    assert "no departure time: 472 left out" in [line.text for line in client.logs(run)]


def test_missing_file_costs_no_attempt(client: TestClient) -> None:
    run = client.run(jobs.delay_report, day=CALM)
    assert (run.state, run.attempt, run.reason) == (
        "waiting",
        0,
        "Snooze: 2013-02-07.csv.gz is not there yet",
    )
    deliver(CALM)
    assert client.fast_forward(run).state == "succeeded"
    assert client.attempts(run) == 1


def test_file_that_stays_broken_fails_after_five_attempts(client: TestClient) -> None:
    file_of(jobs.INBOX, CALM).write_bytes(gzip.compress(b"year\n" * 9)[:-4])
    run = client.fast_forward(client.start(jobs.delay_report))
    assert (run.state, run.attempt) == ("failed", 5)
