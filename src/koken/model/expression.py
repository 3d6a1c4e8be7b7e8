"""Schedule expressions: one entry for every dialect in which a time may be written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from koken.errors import DeclarationError
from koken.model import cron, duration, english, eventbridge, interval, zones
from koken.model.eventbridge import Once
from koken.model.interval import EPOCH, Interval
from koken.model.shown import shown
from koken.model.wallclock import MINUTE, TICK, WallTimes


@dataclass(frozen=True, slots=True)
class Expression:
    """What an expression means in a zone: when it is due.

    ``text`` is as written, ``timezone`` the IANA name of the zone: the one that the text itself
    names, otherwise the given one.
    """

    text: str
    timezone: str
    times: WallTimes | Interval | Once
    names_zone: bool = False

    def next(self, after: datetime) -> datetime | None:
        """The first instant after ``after``, in the expression's zone; ``None`` if there is none.

        Python compares two datetimes of one zone by their wall clocks: turn them to UTC before
        comparing them. Raises ``ValueError`` when ``after`` is naive.
        """
        zone = zones.named(self.timezone)
        found = self.times.next(zones.in_utc(after, name="after"), zone)
        return None if found is None else found.astimezone(zone)

    def missing(self, after: datetime, until: datetime) -> list[datetime]:
        """Wall-clock times between two instants that are left out because no clock showed them.

        Naive, oldest first. Empty where such times come when the clock has jumped.
        """
        if not isinstance(self.times, WallTimes):
            return []
        start, end = zones.in_utc(after, name="after"), zones.in_utc(until, name="until")
        return self.times.missing(start, end, zones.named(self.timezone))

    def taken_until(self, due: datetime) -> datetime | None:
        """As a suspension: until when ``due`` and what follows it are taken out, in UTC.

        ``None`` when the minute in which ``due`` lies is not one of these times.
        """
        zone = zones.named(self.timezone)
        due = zones.in_utc(due, name="due")
        if isinstance(self.times, WallTimes):
            return self.times.taken_until(due, zone)
        minute = due.replace(second=0, microsecond=0)
        found = self.times.next(minute - TICK, zone)
        return minute + MINUTE if found is not None and found < minute + MINUTE else None

    def in_words(self) -> str:
        """The times as people say them, with the zone where it matters."""
        words = self.times.in_words()
        return words if isinstance(self.times, Interval) else f"{words}, {self.timezone}"


def parse(expression: str, timezone: str = "UTC", *, anchor: datetime | None = None) -> Expression:
    """What ``expression`` means in ``timezone``, an IANA name.

    Intervals and rates count from ``anchor``, from the Unix epoch without one. Raises
    ``DeclarationError`` that names the part which is wrong.
    """
    counted_from = EPOCH if anchor is None else zones.in_utc(anchor, name="anchor")
    return parsed(text_of(expression), timezone, counted_from)


def text_of(value: object) -> str:
    """``value``, which must be a text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise DeclarationError(f"{shown(value)} is no expression. Write '0 2 * * *' or '5m'.")
    return value


@lru_cache(maxsize=4096)
def parsed(expression: str, timezone: str, anchor: datetime) -> Expression:
    """``parse``, remembered: the same text is asked at every fire."""
    zones.named(timezone)
    text = expression.strip()
    if eventbridge.LOOKS_LIKE_CALL.match(text):
        return called(expression, timezone, anchor)
    if duration.WHOLE.fullmatch(text):
        times = interval.parse(expression, anchor)
        return Expression(expression, timezone, times)
    if text[0].isalpha() and "*" not in text:
        spoken, zone = english.parse(expression, anchor)
        return Expression(expression, zone or timezone, spoken, zone is not None)
    return Expression(expression, timezone, cron.parse(expression))


def called(expression: str, timezone: str, anchor: datetime) -> Expression:
    """An expression of EventBridge: a name, and what stands in its brackets."""
    found = eventbridge.CALL.fullmatch(expression)
    if not found:
        raise DeclarationError(f"{expression!r} must end with the bracket that it opened.")
    inner = found[2]
    match found[1].lower():
        case "cron":
            times = eventbridge.parse_cron(expression, inner)
            return Expression(expression, timezone, times)
        case "rate":
            rate = eventbridge.parse_rate(expression, inner, anchor)
            return Expression(expression, timezone, rate)
    return Expression(expression, timezone, eventbridge.parse_at(expression, inner))
