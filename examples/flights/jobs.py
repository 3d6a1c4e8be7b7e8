"""A daily delay report: the job.

In earnest it runs at half past six in New York and takes the files from where an airline puts
them. The environment says otherwise where somebody wants to watch (see ``demo.py``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

import koken
from examples.flights.page import publish
from examples.flights.report import (
    DATA,
    BadRow,
    Day,
    airline_names,
    check,
    days_in,
    file_of,
    oldest,
    read,
)
from koken import Context

T = TypeVar("T")

INBOX = Path(os.environ.get("FLIGHTS_INBOX", DATA))
REPORTS = Path(os.environ.get("FLIGHTS_REPORTS", ".koken/reports"))
SCHEDULE = os.environ.get("FLIGHTS_SCHEDULE", "30 6 * * *")
BACKOFF = os.environ.get("FLIGHTS_BACKOFF", "2m")
SECONDS_A_DAY = float(os.environ.get("FLIGHTS_SECONDS_A_DAY", "0"))
"""How long to spend on a day's rows, so that somebody can watch; 0 is as fast as it goes."""

app = koken.App("flights")


class Report(BaseModel):
    """What a run answers."""

    day: date
    flights: int
    bad_rows: int
    mean_delay: float
    page: Path


@app.job(
    schedule=SCHEDULE,
    timezone="America/New_York",
    overlap="skip_if_running",
    queue="reports",
    max_attempts=5,
    backoff=BACKOFF,
    timeout="10m",
    effect="idempotent",
    owner="data-team",
)
def delay_report(ctx: Context, day: date | None = None) -> Report:
    """The delays of one day; without ``day``, of the oldest one that has no report yet.

    Reads the day's file, writes one page and its picture. Safe to repeat. When it fails, look at
    the file: the airline delivers again on request.
    """
    day = day or ctx.step("choose the day", next_day)  # a later attempt keeps to the same day
    if day is None:
        raise koken.Skip("every day that was delivered has its report")
    file = file_of(INBOX, day)
    if not file.exists():
        raise koken.Snooze("15m", f"{file.name} is not there yet")
    rows = read(file)
    ctx.log.info("%s: %s rows", file.name, len(rows))
    found = Day(day)
    for number, row in enumerate(paced(rows, SECONDS_A_DAY), 1):
        flight = check(row)
        if isinstance(flight, BadRow):
            found.count_bad(flight)
        else:
            found.count(flight)
        ctx.progress(90 * number / len(rows), f"{number} of {len(rows)} flights")
    for why, count in found.reasons.most_common():
        ctx.log.warning("%s: %s left out", why, count)
    page = publish(found, airline_names(), REPORTS)
    print(f"wrote {page}")  # goes into the log of the run
    return Report(
        day=day,
        flights=found.flights,
        bad_rows=found.bad_rows,
        mean_delay=round(found.mean_delay, 1),
        page=page,
    )


def next_day() -> date | None:
    """The oldest day that was delivered and has no report."""
    return oldest(days_in(INBOX, ".csv.gz") - days_in(REPORTS, ".html"))


def paced(rows: Sequence[T], seconds: float) -> Iterator[T]:
    """The rows, spread over so many seconds."""
    began = time.monotonic()
    for number, row in enumerate(rows, 1):
        yield row
        ahead = seconds * number / len(rows) - (time.monotonic() - began)
        if ahead > 0:
            time.sleep(ahead)
