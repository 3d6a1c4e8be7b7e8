"""Cron expressions: five fields, or six with seconds first, and ``@daily`` with its kin.

``cronsim`` matches the fields. It is asked for wall-clock times only: changes of the clock are
handled in ``wallclock``, by the rule of Debian cron, to the minute in every zone.
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cronsim import CronSim, CronSimError

from koken.errors import DeclarationError
from koken.model import cronfields as fields
from koken.model import cronwords
from koken.model.cronfields import Field
from koken.model.wallclock import MINUTE, TICK, ClockRule, WallTimes

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
FIVE = (fields.MINUTE, fields.HOUR, fields.DAY, fields.MONTH, fields.WEEKDAY)
SIX = (fields.SECOND, *FIVE)

LEAP_YEAR = datetime(2000, 1, 1)
"""From here on every date that ever comes does so within the years that ``cronsim`` looks at."""

ELSEWHERE = (
    "Others are cron(…), rate(…) and at(…) of EventBridge, '@daily', '90s' and 'every day at 2am'"
)


@dataclass(frozen=True, slots=True)
class CronCalendar:
    """The wall-clock times of six cron fields, seconds first.

    ``years`` are the years in which they come; empty means all. With ``near`` they come on the
    weekday nearest to that day of the month, and the day field holds the days around it.
    """

    fields: str
    years: frozenset[int] = frozenset()
    near: int = 0

    def next_wall(self, after: datetime) -> datetime | None:
        """The first time after ``after``; both are naive."""
        while (found := next(CronSim(self.fields, after), None)) is not None:
            if self.years and found.year not in self.years:
                later = [year for year in self.years if year > found.year]
                if not later:
                    return None
                after = datetime(min(later), 1, 1) - TICK
            elif self.near and found.day != nearest_weekday(found.year, found.month, self.near):
                after = found.replace(hour=23, minute=59, second=59)
            else:
                return found
        return None

    @property
    def grain(self) -> timedelta:
        """The largest piece of time that the fields hold in whole or not at all."""
        sim = CronSim(self.fields, LEAP_YEAR)
        if len(sim.minutes) < 60:
            return MINUTE
        return timedelta(hours=1 if len(sim.hours) < 24 else 24)

    @property
    def hourly(self) -> bool:
        """Whether every hour of the day has a time."""
        return len(CronSim(self.fields, LEAP_YEAR).hours) == 24

    def in_words(self) -> str:
        """The times, as people say them: ``At 02:00 every day``."""
        cells = self.fields.split()
        if self.near:
            cells[3] = "L"
        words = cronwords.in_words(cells)
        if self.near:
            words = words.replace("last day", f"weekday nearest to day {self.near}")
        return f"{words} in {spans(self.years)}" if self.years else words


def parse(expression: str) -> WallTimes:
    """The times of a cron expression or of a macro such as ``@daily``.

    Raises ``DeclarationError`` that names the field.
    """
    text = expression.strip()
    if text.startswith("@"):
        if text.lower() not in MACROS:
            raise DeclarationError(f"{expression!r} is none of {', '.join(MACROS)}.")
        text = MACROS[text.lower()]
    if "?" in text:
        raise DeclarationError(
            f"{expression!r}: '?' belongs to EventBridge, whose six fields go in cron({text}). "
            "In five-field cron write '*'."
        )
    parts = text.split()
    if len(parts) not in (5, 6):
        raise DeclarationError(
            f"{expression!r} has {counted(len(parts), 'field')}. Cron has 5 (minute hour "
            f"day-of-month month weekday), or 6 with seconds first. {ELSEWHERE}."
        )
    layout = FIVE if len(parts) == 5 else SIX
    cells = rewrite(expression, parts, layout, hint="EventBridge's six fields go in cron(…)")
    cells = cells if len(cells) == 6 else ["0", *cells]
    wildcard = any(cell.startswith("*") for cell in cells[:3])
    rule = ClockRule.EVERY if wildcard else ClockRule.SHIFT
    return WallTimes(calendar_of(expression, cells), rule)


def rewrite(
    expression: str, parts: Sequence[str], layout: Sequence[Field], *, hint: str
) -> list[str]:
    """The fields in ``cronsim``'s spelling; ``hint`` ends the message about a wrong one."""
    cells = []
    for place, (field, part) in enumerate(zip(layout, parts, strict=True), start=1):
        try:
            cells.append(fields.rewritten(field, part))
        except ValueError as error:
            where = f"Field {place} of {len(layout)}" + (
                ", seconds first" if layout[0] is fields.SECOND else ""
            )
            raise DeclarationError(f"{expression!r}: {error}. ({where}; {hint}.)") from None
    return cells


def calendar_of(
    expression: str, cells: Sequence[str], years: frozenset[int] = frozenset()
) -> CronCalendar:
    """The calendar of six rewritten cells; refused when its date never comes."""
    second, minute, hour, day, month, weekday = cells
    near = 0
    if "W" in day.replace("LW", ""):
        if "," in day or not weekday.startswith("*"):
            raise DeclarationError(
                f"{expression!r}: day of month {day} (the nearest weekday) stands alone, "
                "without a list and without a weekday."
            )
        near = int(day[:-1])
        day = f"{max(near - 2, 1)}-{min(near + 2, 31)}"
    times = CronCalendar(f"{second} {minute} {hour} {day} {month} {weekday}", years, near)
    if not comes(times, month):
        when = f"{f'{near}W' if near else day} never comes in month {month}"
        also = "" if weekday == "*" else f" on weekday {weekday}"
        within = f" in {spans(years)}" if years else ""
        raise DeclarationError(f"{expression!r}: day of month {when}{also}{within}.")
    return times


def comes(times: CronCalendar, month: str) -> bool:
    """Whether the calendar has any time at all."""
    longest = max(31 if m in (1, 3, 5, 7, 8, 10, 12) else 30 - (m == 2) for m in months(month))
    if times.near > longest:
        return False
    start = datetime(min(times.years), 1, 1) if times.years else LEAP_YEAR
    try:
        return times.next_wall(start - TICK) is not None
    except CronSimError:
        return False


def months(text: str) -> frozenset[int]:
    """The months of a rewritten month field."""
    return fields.numbers(fields.MONTH, text)


def nearest_weekday(year: int, month: int, day: int) -> int | None:
    """The day of the month, Monday to Friday, nearest to ``day`` and in the same month.

    ``None`` when the month has no such day.
    """
    last = calendar.monthrange(year, month)[1]
    if day > last:
        return None
    match calendar.weekday(year, month, day):
        case calendar.SATURDAY:
            return day - 1 if day > 1 else 3
        case calendar.SUNDAY:
            return day + 1 if day < last else last - 2
    return day


def spans(years: frozenset[int]) -> str:
    """Years as text: ``2026-2028, 2031``."""
    runs: list[list[int]] = []
    for year in sorted(years):
        if runs and year == runs[-1][-1] + 1:
            runs[-1].append(year)
        else:
            runs.append([year])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def counted(count: int, noun: str) -> str:
    """``1 field``, ``4 fields``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
