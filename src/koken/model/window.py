"""Windows: the hours of the day within which a step may begin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from koken.errors import DeclarationError
from koken.model import zones
from koken.model.gate import MIDNIGHT, shown
from koken.model.zones import DAY

FORM = re.compile(r"\s*(\d{1,2}):([0-5]\d)\s*-\s*(\d{1,2}):([0-5]\d)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Hours:
    """From when until when, counted from the day's midnight; ``closes`` may lie on the next day."""

    opens: timedelta
    closes: timedelta


@lru_cache(maxsize=1024)
def parse(text: object) -> Hours:
    """The hours of ``"08:00-18:00"``, or of ``"22:00-06:00"``, which crosses midnight.

    Raises ``DeclarationError`` when it is no window.
    """
    found = FORM.fullmatch(text) if isinstance(text, str) else None
    if not found:
        raise DeclarationError(f"{text!r} is no window. Write it as '22:00-06:00'.")
    opens, closes = (
        timedelta(hours=int(found[place]), minutes=int(found[place + 1])) for place in (1, 3)
    )
    if opens >= DAY or closes > DAY:
        raise DeclarationError(f"{text!r}: a day has the hours 00:00 to 24:00.")
    if opens == closes:
        raise DeclarationError(f"{text!r} opens and closes at once. Write '00:00-24:00' for a day.")
    return Hours(opens, closes if closes > opens else closes + DAY)


def window(text: str, logical_at: datetime, timezone: str) -> tuple[datetime | None, datetime]:
    """When the window opens and closes, as seen from ``logical_at``; in UTC.

    It opens at None when it is open; when it closes it no longer is. A time that the clock leaps
    over comes as it leaps. Raises ``DeclarationError`` when the text is no window.
    """
    hours = parse(text)
    now = zones.in_utc(logical_at, name="logical_at")
    day = datetime.combine(zones.wall_at(now, zones.named(timezone)), MIDNIGHT) - DAY
    while True:
        opens, closes = (shown(day + each, timezone) for each in (hours.opens, hours.closes))
        if opens < closes and now < closes:
            return (None if opens <= now else opens), closes
        day += DAY
