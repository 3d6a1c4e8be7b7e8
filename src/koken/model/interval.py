"""Elapsed time: the same length between every two fires, whatever the clocks show.

Fires are the anchor plus whole intervals, so that everybody who computes them gets the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

from koken.errors import DeclarationError
from koken.model import duration

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

UNITS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "min": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}


@dataclass(frozen=True, slots=True)
class Interval:
    """Every ``step`` from ``anchor`` (UTC) on, and in the same rhythm before it."""

    SHORTEST: ClassVar[timedelta] = timedelta(seconds=1)
    LONGEST: ClassVar[timedelta] = timedelta(days=36525)

    step: timedelta
    anchor: datetime = EPOCH

    def next(self, after: datetime, zone: ZoneInfo) -> datetime | None:
        """The first fire after ``after``; both in UTC. The zone does not matter."""
        try:
            return self.anchor + ((after - self.anchor) // self.step + 1) * self.step
        except OverflowError:
            return None

    def in_words(self) -> str:
        """``Every 15 min``, ``Every 1 d 6 h``: exact, unlike durations elsewhere."""
        rest, parts = self.step, []
        for unit, length in UNITS.items():
            count, rest = divmod(rest, length)
            if count:
                parts.append(f"{count} {unit}")
        return f"Every {' '.join(parts)}"


def parse(expression: str, anchor: datetime) -> Interval:
    """The interval in a text such as ``"90s"`` or ``"1d 6h"``, counted from ``anchor``.

    Raises ``DeclarationError`` when it is shorter than a second or longer than 100 years.
    """
    length = duration.seconds(expression, name="interval")
    if not Interval.SHORTEST.total_seconds() <= length <= Interval.LONGEST.total_seconds():
        raise DeclarationError(f"{expression!r}: an interval is between 1 second and 100 years.")
    return Interval(timedelta(seconds=length), anchor)
