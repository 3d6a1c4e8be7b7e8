"""Times on a wall clock, and the instants at which they come.

A calendar knows only wall-clock times, without a zone. The rule says what becomes of a time that
the clock jumps over, and of one that it shows twice, when it is put forward or back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Protocol
from zoneinfo import ZoneInfo

from koken.model.zones import DAY, first_change, wall_at

TICK = timedelta(microseconds=1)
MINUTE = timedelta(minutes=1)


class ClockRule(StrEnum):
    """What happens when the clock is put forward (gap) or back (overlap)."""

    SHIFT = "shift"
    """A time in the gap comes when the gap ends, a repeated one once: Debian cron, fixed times."""
    SKIP = "skip"
    """A time in the gap does not come, a repeated one comes once: EventBridge Scheduler."""
    EVERY = "every"
    """Whenever a clock shows it: never in the gap, twice in the overlap: Debian cron, wildcards."""


class Calendar(Protocol):
    """A set of wall-clock times."""

    @property
    def grain(self) -> timedelta:
        """A minute, an hour or a day: pieces of time that it holds in whole or not at all."""
        ...

    @property
    def hourly(self) -> bool:
        """Whether it has times in every hour of its days."""
        ...

    def next_wall(self, after: datetime) -> datetime | None:
        """Its first time after ``after``; both are naive."""
        ...

    def in_words(self) -> str:
        """The times, as people say them."""
        ...


@dataclass(frozen=True, slots=True)
class WallTimes:
    """A calendar with its rule."""

    calendar: Calendar
    rule: ClockRule

    def next(self, after: datetime, zone: ZoneInfo) -> datetime | None:
        """The first instant after ``after`` that is due; both in UTC."""
        try:
            if self.rule is ClockRule.EVERY:
                return next_shown(self.calendar, after, zone)
            return next_once(self.calendar, after, zone, shift=self.rule is ClockRule.SHIFT)
        except OverflowError:
            return None

    def missing(self, after: datetime, until: datetime, zone: ZoneInfo) -> list[datetime]:
        """Times that the rule drops between two instants because no clock showed them.

        As wall-clock times. Of times in every hour none counts as dropped: the next hour follows.
        """
        found: list[datetime] = []
        if self.rule is ClockRule.SHIFT or self.calendar.hourly:
            return found
        while after < until:
            end = min(after + DAY, until)
            change = first_change(zone, after, end)
            if change is not None:
                found += walls_between(
                    self.calendar, wall_at(change - TICK, zone) + TICK, wall_at(change, zone)
                )
            after = change or end
        return found

    def taken_until(self, due: datetime, zone: ZoneInfo) -> datetime | None:
        """Until when ``due`` and what follows it are taken out, if these times are a suspension.

        ``None`` when no time of the calendar lies in the wall-clock minute of ``due``. Otherwise
        the end of that minute, or of the hour or day of which the calendar holds every minute.
        """
        wall = wall_at(due, zone)
        minute = wall.replace(second=0, microsecond=0)
        if not self.holds(minute):
            return None
        grain = self.calendar.grain
        end = due + (grain - (wall - datetime.min) % grain)
        return first_change(zone, due, end) or end

    def holds(self, minute: datetime) -> bool:
        """Whether a time of the calendar lies in this wall-clock minute."""
        found = self.calendar.next_wall(minute - TICK)
        return found is not None and found < minute + MINUTE

    def in_words(self) -> str:
        """The calendar, as people say it."""
        return self.calendar.in_words()


def instant_of(wall: datetime, zone: ZoneInfo, *, shift: bool) -> datetime | None:
    """When a clock in ``zone`` first shows ``wall``.

    If it never does, because the clock jumps over it: the instant of the jump with ``shift``,
    otherwise ``None``.
    """
    instant = wall.replace(tzinfo=zone).astimezone(UTC)
    if wall_at(instant, zone) == wall:
        return instant
    return first_change(zone, instant_before(wall, zone), instant) if shift else None


def instant_before(wall: datetime, zone: ZoneInfo) -> datetime:
    """An instant shortly before the gap in which ``wall`` lies."""
    return wall.replace(tzinfo=zone, fold=1).astimezone(UTC)


def next_once(
    calendar: Calendar, after: datetime, zone: ZoneInfo, *, shift: bool
) -> datetime | None:
    """The first instant after ``after``, when a repeated time counts the first time only."""
    wall = calendar.next_wall(wall_at(after, zone))
    while wall is not None:
        instant = instant_of(wall, zone, shift=shift)
        if instant is not None and instant > after:
            return instant
        wall = calendar.next_wall(wall)
    return None


def next_shown(calendar: Calendar, after: datetime, zone: ZoneInfo) -> datetime | None:
    """The first instant after ``after`` at which a clock shows one of the times.

    Goes from one stretch of constant offset to the next, and leaps over stretches without times:
    a clock is never put back by as much as a day.
    """
    start, bound = after, wall_at(after, zone)
    while True:
        change = first_change(zone, start, start + DAY)
        end = change or start + DAY
        wall = calendar.next_wall(bound)
        instant = None if wall is None else start + (wall - wall_at(start, zone))
        if instant is not None and instant < end:
            return instant
        if change is None and instant is None:
            return None
        start = end if change or instant is None else max(end, instant - DAY / 2)
        bound = wall_at(start, zone) - TICK


def walls_between(calendar: Calendar, start: datetime, end: datetime) -> list[datetime]:
    """The times of ``calendar`` from ``start`` until before ``end``, all naive."""
    found: list[datetime] = []
    wall = calendar.next_wall(start - TICK)
    while wall is not None and wall < end:
        found.append(wall)
        wall = calendar.next_wall(wall)
    return found
