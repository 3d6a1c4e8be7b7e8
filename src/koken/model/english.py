"""English expressions: ``every weekday at 9:30``, ``every day at 2am in Asia/Tokyo``.

``hron`` reads them. What cron can say becomes cron, so that one rule holds for both; the rest is
asked of ``hron`` as wall-clock times, without a zone, under the same rule.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import hron

from koken.errors import DeclarationError
from koken.model import cron, zones
from koken.model.interval import Interval
from koken.model.wallclock import MINUTE, ClockRule, WallTimes

EVERY = re.compile(
    r"every\s+(?:([0-9]{1,9})\s*)?(sec(?:ond)?|min(?:ute)?|h(?:ou)?r)s?(?:\s+in\s+(\S+))?",
    re.IGNORECASE,
)
NAMED_TIME = re.compile(r"\b(noon|midnight)\b", re.IGNORECASE)
TWELVE_HOURS = re.compile(r"\b(1[0-2]|0?[1-9])(?::([0-5]\d))?\s*([ap])\.?m\b\.?", re.IGNORECASE)
AND = re.compile(r" ?,? and ", re.IGNORECASE)

CRON_OF = {"s": ("*/{} * * * * *", 60), "m": ("*/{} * * * *", 60), "h": ("0 0-23/{} * * *", 24)}
LENGTH_OF = {"s": timedelta(seconds=1), "m": MINUTE, "h": timedelta(hours=1)}

EXAMPLES = (
    "'every day at 2am', 'every weekday at 9:30', 'every 15 minutes', "
    "'every month on the last day at noon'"
)


@dataclass(frozen=True, slots=True)
class EnglishCalendar:
    """The wall-clock times of a ``hron`` schedule without a zone."""

    schedule: hron.Schedule

    def next_wall(self, after: datetime) -> datetime | None:
        """The first time after ``after``; both are naive."""
        found = self.schedule.next_from(after.replace(tzinfo=UTC))
        return None if found is None else found.replace(tzinfo=None)

    @property
    def grain(self) -> timedelta:
        """Single minutes: hron's times may be any."""
        return MINUTE

    @property
    def hourly(self) -> bool:
        """Never: what runs in every hour is cron."""
        return False

    def in_words(self) -> str:
        """The expression in hron's own wording, with a capital."""
        words = str(self.schedule)
        return words[0].upper() + words[1:]


def parse(expression: str, anchor: datetime) -> tuple[WallTimes | Interval, str | None]:
    """The times of an English expression, and the zone that it names, if it does.

    Raises ``DeclarationError`` with hron's own reason.
    """
    text = " ".join(expression.split())
    if found := EVERY.fullmatch(text):
        zone = None if found[3] is None else zones.named(found[3]).key
        return repeated(expression, int(found[1] or 1), found[2][0].lower(), anchor), zone
    try:
        schedule = hron.Schedule.parse(normal(text))
    except hron.HronError as error:
        reason = " ".join(error.message.split())
        raise DeclarationError(
            f"{expression!r}: {reason}. (Read as English, which looks like {EXAMPLES}.)"
        ) from None
    return times_of(schedule), schedule.timezone


def normal(text: str) -> str:
    """``text`` with times on the 24-hour clock and lists with commas, as hron wants them."""
    text = NAMED_TIME.sub(lambda m: "12:00" if m[1].lower() == "noon" else "00:00", text)
    text = TWELVE_HOURS.sub(on_24_hours, text)
    return AND.sub(", ", text)


def on_24_hours(found: re.Match[str]) -> str:
    """``2:30 PM`` as ``14:30``."""
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return f"{hour:02d}:{found[2] or '00'}"


def repeated(expression: str, count: int, unit: str, anchor: datetime) -> WallTimes | Interval:
    """Every ``count`` seconds, minutes or hours.

    On the wall clock where it comes out even there, otherwise as elapsed time from ``anchor``.
    """
    fields, whole = CRON_OF[unit]
    if 0 < count < whole and whole % count == 0:
        return cron.parse("0 * * * *" if (count, unit) == (1, "h") else every(fields, count))
    step = count * LENGTH_OF[unit]
    if not Interval.SHORTEST <= step <= Interval.LONGEST:
        raise DeclarationError(f"{expression!r}: an interval is between 1 second and 100 years.")
    return Interval(step, anchor)


def every(fields: str, count: int) -> str:
    """Cron fields with the step ``count``; a step of one is left out."""
    return fields.replace("/{}", "") if count == 1 else fields.format(count)


def times_of(schedule: hron.Schedule) -> WallTimes:
    """The times of a schedule: as cron if cron can say them."""
    try:
        return cron.parse(schedule.to_cron())
    except hron.HronError:
        pass
    repeats = isinstance(schedule.expression, hron.IntervalRepeat)
    zoneless = hron.Schedule(dataclasses.replace(schedule.data, timezone=None))
    return WallTimes(EnglishCalendar(zoneless), ClockRule.EVERY if repeats else ClockRule.SHIFT)
