from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from koken.testing import TestClient, call
from tests.programs import flights
from tests.programs.flights import Report, app, delay_report

ROWS = ["12", "", "-3", "", "", "60", ""]
REPORT = Report(day=date(2013, 1, 1), flights=3, bad_rows=4, page=Path("2013-01-01.html"))


@pytest.fixture(autouse=True)
def airline() -> Iterator[dict[date, list[str]]]:
    """It has brought the first of January 2013."""
    flights.airline[date(2013, 1, 1)] = ROWS
    yield flights.airline
    flights.airline.clear()
    flights.pages.clear()


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


def test_body_alone() -> None:
    assert call(delay_report, day=date(2013, 1, 1)).bad_rows == 4
    assert call(delay_report, date(2013, 1, 1)) == REPORT
    assert flights.pages == {Path("2013-01-01.html"): [12.0, -3.0, 60.0]}


def test_schedule_fires_in_new_york(client: TestClient, airline: dict[date, list[str]]) -> None:
    airline[date(2026, 3, 7)] = ROWS
    client.now = datetime.fromisoformat("2026-03-08T06:29:00-04:00")
    (run,) = client.advance("1m")
    assert (run.job, run.state, run.trigger.kind) == ("delay_report", "succeeded", "schedule")
    assert run.result["day"] == "2026-03-07"
    assert (run.queue, run.progress.percent) == ("reports", 90)
    assert [line.text for line in client.logs(run)] == [
        f"no arrival time: row {n}" for n in (2, 4, 5, 7)
    ]


def test_waits_for_the_file_and_spends_no_attempt(
    client: TestClient, airline: dict[date, list[str]]
) -> None:
    began = client.now
    run = client.run(delay_report, day=date(2013, 1, 2))
    assert (run.state, run.reason) == ("waiting", "Snooze: the airline file is not there yet")
    client.advance("2h")
    assert (client.get(run).state, client.attempts(run)) == ("waiting", 0)
    airline[date(2013, 1, 2)] = ROWS
    assert client.result(run).flights == 3
    assert (client.now - began, client.attempts(run)) == (timedelta(hours=2, minutes=15), 1)


def test_a_missing_table_is_not_retried(client: TestClient) -> None:
    client.failing(delay_report, FileNotFoundError("flights"))
    run = client.run(delay_report, day=date(2013, 1, 1))
    assert (run.state, client.attempts(run)) == ("failed", 1)


def test_backfill(client: TestClient, airline: dict[date, list[str]]) -> None:
    for day in range(1, 32):
        airline[date(2013, 1, day)] = ROWS
    backfill = client.using(by="backfill")
    keyed = delay_report.using(priority=5, idempotency_key="2013-01-31")
    last = backfill.start(keyed, day=date(2013, 1, 31))
    assert backfill.start(keyed, day=date(2013, 1, 31)).id == last.id
    many = delay_report.using(overlap="allow")
    rest = backfill.start_many(many, ({"day": date(2013, 1, n)} for n in range(1, 31)))
    assert backfill.result(last, timeout="5m").page == Path("2013-01-31.html")
    assert {client.get(run).state for run in rest} == {"succeeded"}
    assert len(flights.pages) == 31
    assert [run.trigger.by for run in client.started(delay_report, day=date(2013, 1, 7))] == [
        "backfill"
    ]
