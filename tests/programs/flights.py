"""A daily report that waits for its file."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from pydantic import BaseModel

import koken
from koken import Context

app = koken.App("flights")
airline: dict[date, list[str]] = {}
"""The rows that the airline has brought: minutes of delay, or no number."""
pages: dict[Path, list[float]] = {}


class Report(BaseModel):
    day: date
    flights: int
    bad_rows: int
    page: Path


def read_day(day: date) -> list[str]:
    return airline.get(day, [])


def parse(row: str) -> float | None:
    return float(row) if row else None


def draw(day: date, delays: list[float]) -> Path:
    page = Path(f"{day}.html")
    pages[page] = delays
    return page


@app.job(
    schedule="30 6 * * *",
    timezone="America/New_York",
    overlap="skip_if_running",
    queue="reports",
    max_attempts=5,
    backoff="2m",
    never_retry=(FileNotFoundError,),
    timeout="10m",
)
def delay_report(ctx: Context, day: date | None = None) -> Report:
    """Yesterday's delays. Reads the flights table, writes one page; safe to repeat."""
    day = day or ctx.logical_time.date() - timedelta(days=1)
    rows = read_day(day)
    if not rows:
        raise koken.Snooze("15m", "the airline file is not there yet")
    delays: list[float] = []
    for n, row in enumerate(rows, 1):
        if (delay := parse(row)) is None:
            ctx.log.warning("no arrival time: row %s", n)
        else:
            delays.append(delay)
        ctx.progress(90 * n / len(rows), f"{n} of {len(rows)} flights")
    return Report(
        day=day, flights=len(delays), bad_rows=len(rows) - len(delays), page=draw(day, delays)
    )
