"""Gates: cron fields that a step waits for, on the logical time of its run.

Day fields (day of month, month, weekday) say on which days the step goes: on others it is skipped.
Time fields (minute, hour) say from which time of that day on; of several times the earliest
counts. A field ``*`` says nothing. When the run's own day is none of the days, but the next one
begins within 24 hours and both day of month and month are named, the step is held until then.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import lru_cache
from typing import Literal

from koken.errors import DeclarationError
from koken.model import cron, cronfields, zones
from koken.model.cron import CronCalendar
from koken.model.wallclock import TICK, instant_of
from koken.model.zones import DAY

ORDER = "minute hour day-of-month month weekday"
MIDNIGHT = time()

Verdict = Literal["open", "skip", "hold"]


@dataclass(frozen=True, slots=True)
class Gate:
    """What a gate says to a step: go, be skipped, or wait ``until`` (UTC); ``text`` is why."""

    verdict: Verdict
    until: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class Fields:
    """A gate, understood: its days, its earliest time of the day, and whether it names dates."""

    days: CronCalendar
    at: time
    dated: bool

    def match(self, day: datetime) -> bool:
        """Whether the day that begins at ``day`` (naive) is one of the days."""
        found = self.days.next_wall(day - TICK)
        return found is not None and found < day + DAY

    def instant(self, day: datetime, timezone: str) -> datetime:
        """When the gate opens on that day, in UTC."""
        return shown(datetime.combine(day, self.at), timezone)


def shown(wall: datetime, timezone: str) -> datetime:
    """When a clock first shows ``wall``, in UTC; a time that it leaps over comes as it leaps."""
    zone = zones.named(timezone)
    return instant_of(wall, zone, shift=True) or zones.in_utc(
        wall.replace(tzinfo=zone), name="wall"
    )


@lru_cache(maxsize=4096)
def parse(expression: object) -> Fields:
    """The gate that ``expression`` describes.

    Raises ``DeclarationError`` that says what is wrong with it.
    """
    text = expression if isinstance(expression, str) else ""
    parts = text.split()
    if len(parts) != 5 or "(" in text or "?" in text:
        raise DeclarationError(
            f"{expression!r} is no gate. A gate has cron's five fields ({ORDER}), "
            "such as '30 16 * * *'; EventBridge and English are for schedules."
        )
    minute, hour, day, month, weekday = cron.rewrite(text, parts, cron.FIVE, hint=ORDER)
    return Fields(
        days=cron.calendar_of(text, ["0", "0", "0", day, month, weekday]),
        at=time(
            min(cronfields.numbers(cronfields.HOUR, hour)),
            min(cronfields.numbers(cronfields.MINUTE, minute)),
        ),
        dated=day != "*" and month != "*",
    )


def decide(expression: str, logical_at: datetime, timezone: str) -> Gate:
    """What the gate says to a step of a run that stands for ``logical_at``.

    Raises ``DeclarationError`` when the expression is no gate.
    """
    fields = parse(expression)
    now = zones.in_utc(logical_at, name="logical_at")
    wall = zones.wall_at(now, zones.named(timezone))
    today = datetime.combine(wall, MIDNIGHT)
    if fields.match(today):
        return held(expression, now, fields.instant(today, timezone), timezone)
    tomorrow = today + DAY
    if fields.dated and fields.match(tomorrow):
        until = fields.instant(tomorrow, timezone)
        if until <= now + timedelta(hours=24):
            return held(expression, now, until, timezone)
    return Gate("skip", None, f"gate {expression}: {wall:%A %Y-%m-%d} is not one of its days")


def held(expression: str, now: datetime, until: datetime, timezone: str) -> Gate:
    """The gate of a day that is one of its days: open from ``until`` on."""
    if until <= now:
        return Gate("open", None, f"gate {expression}: open")
    wall = zones.wall_at(until, zones.named(timezone))
    return Gate("hold", until, f"gate {expression}: not before {wall:%Y-%m-%d %H:%M} {timezone}")
