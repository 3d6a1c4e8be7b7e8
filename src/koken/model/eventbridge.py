"""Expressions of Amazon EventBridge Scheduler: ``cron(…)``, ``rate(…)`` and ``at(…)``.

They mean what they mean there, changes of the clock included: a time that does not exist is
skipped and one that comes twice runs once. Source: EventBridge Scheduler User Guide,
"Schedule types on EventBridge Scheduler".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from koken.errors import DeclarationError
from koken.model import cron
from koken.model import cronfields as fields
from koken.model.interval import Interval
from koken.model.wallclock import ClockRule, WallTimes, instant_of

CALL = re.compile(r"\s*(cron|rate|at)\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)
LOOKS_LIKE_CALL = re.compile(r"\s*(cron|rate|at)\s*\(", re.IGNORECASE)
RATE = re.compile(r"([0-9]{1,9})\s+(minute|hour|day)s?", re.IGNORECASE)
AT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?")

LAYOUT = (
    fields.MINUTE,
    fields.HOUR,
    fields.DAY,
    fields.MONTH,
    fields.EVENTBRIDGE_WEEKDAY,
    fields.YEAR,
)
ORDER = "minute hour day-of-month month weekday year"
UNITS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}


@dataclass(frozen=True, slots=True)
class Once:
    """One wall-clock time; if the clock jumps over it, the instant of the jump."""

    wall: datetime

    def next(self, after: datetime, zone: ZoneInfo) -> datetime | None:
        """The instant, if it is after ``after``; both in UTC."""
        instant = instant_of(self.wall, zone, shift=True)
        return instant if instant is not None and instant > after else None

    def in_words(self) -> str:
        """``Once, on 2026-12-01 at 02:00``."""
        shown = self.wall.time().isoformat("seconds" if self.wall.second else "minutes")
        return f"Once, on {self.wall.date()} at {shown}"


def parse_cron(expression: str, inner: str) -> WallTimes:
    """The times of the six fields in ``cron(…)``.

    Raises ``DeclarationError`` that names the field.
    """
    parts = inner.split()
    if len(parts) != 6:
        raise DeclarationError(
            f"{expression!r} has {cron.counted(len(parts), 'field')}. EventBridge's cron(…) has 6 "
            f"({ORDER}); five-field cron is written without cron(…)."
        )
    if [parts[2], parts[4]].count("?") != 1:
        raise DeclarationError(
            f"{expression!r}: of day of month (field 3) and weekday (field 5) exactly one is '?', "
            f"here they are {parts[2]!r} and {parts[4]!r}."
        )
    plain = ["*" if part == "?" and place in (2, 4) else part for place, part in enumerate(parts)]
    cells = cron.rewrite(expression, plain, LAYOUT, hint=f"cron(…) holds {ORDER}")
    return WallTimes(
        cron.calendar_of(expression, ["0", *cells[:5]], years_of(cells[5])), rule_of(cells)
    )


def years_of(cell: str) -> frozenset[int]:
    """The years of a rewritten field; empty for all."""
    return frozenset() if cell == "*" else fields.numbers(fields.YEAR, cell)


def rule_of(cells: Sequence[str]) -> ClockRule:
    """Times in every hour go on through a repeated hour; other times come once in it."""
    hourly = len(fields.numbers(fields.HOUR, cells[1])) == 24
    return ClockRule.EVERY if hourly else ClockRule.SKIP


def parse_rate(expression: str, inner: str, anchor: datetime) -> Interval:
    """The interval in ``rate(…)``, counted from ``anchor``; a day has 24 hours."""
    found = RATE.fullmatch(inner.strip())
    if not found:
        raise DeclarationError(
            f"{expression!r}: rate takes a value and a unit (minutes, hours or days), such as "
            f"rate(5 minutes), not {inner.strip()!r}. For seconds write '90s' alone."
        )
    value = int(found[1])
    step = value * UNITS[found[2].lower()]
    if not value or step > Interval.LONGEST:
        raise DeclarationError(f"{expression!r}: rate value {value} is not in 1 minute-100 years.")
    return Interval(step, anchor)


def parse_at(expression: str, inner: str) -> Once:
    """The one time in ``at(…)``."""
    text = inner.strip()
    if not AT.fullmatch(text):
        raise DeclarationError(
            f"{expression!r}: at takes a local time such as at(2026-12-01T02:00:00), without an "
            f"offset; the timezone stands beside it. Found {text!r}."
        )
    try:
        return Once(datetime.fromisoformat(text))
    except ValueError as error:
        raise DeclarationError(f"{expression!r}: at({text}): {error}.") from None
