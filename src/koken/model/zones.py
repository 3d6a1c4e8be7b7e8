"""Time zones: names that are checked, offsets, changes of the clock, edition of the database.

``zoneinfo`` knows the offset at an instant and nothing of the instants at which it changes, so
changes are found by bisection.
"""

from __future__ import annotations

import difflib
import importlib.resources
import zoneinfo
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from zoneinfo import ZoneInfo

from koken.errors import DeclarationError

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def named(name: str) -> ZoneInfo:
    """The zone with the IANA name ``name``.

    Raises ``DeclarationError`` when there is none, with the nearest name that exists.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        close = difflib.get_close_matches(str(name), zoneinfo.available_timezones(), n=1)
        advice = f"Did you mean {close[0]!r}?" if close else "Write a name like 'Europe/Berlin'."
        raise DeclarationError(f"timezone {name!r} is no IANA time zone. {advice}") from None


def in_utc(instant: datetime, *, name: str) -> datetime:
    """``instant`` in UTC, in which instants compare by time and not by wall clock.

    Raises ``ValueError`` when it is naive; ``name`` says what it is, for the message.
    """
    if instant.utcoffset() is None:
        raise ValueError(f"{name} is naive ({instant.isoformat()}); give it a time zone")
    return instant.astimezone(UTC)


def within_years(instant: datetime) -> datetime:
    """The aware ``instant``, as it is. Raises ``ValueError`` outside of the years 1 to 8999.

    So there is room for what is added to it: an offset, a deadline.
    """
    if not FIRST < instant < LAST:
        raise ValueError(f"{instant.isoformat()} is outside of the years 1 to 8999")
    return instant


def wall_at(instant: datetime, zone: ZoneInfo) -> datetime:
    """What a clock on a wall in ``zone`` shows at ``instant``: a naive datetime."""
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def first_change(zone: ZoneInfo, start: datetime, end: datetime) -> datetime | None:
    """The first instant after ``start``, up to ``end``, from which another offset holds.

    Instants are UTC, at most a day apart: two changes that undo each other are not seen.
    """
    offset = start.astimezone(zone).utcoffset()
    if end.astimezone(zone).utcoffset() == offset:
        return None
    before, after = start.replace(microsecond=0), end.replace(microsecond=0)
    while after - before > SECOND:
        middle = before + (after - before) // SECOND // 2 * SECOND
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return before + SECOND


@cache
def tzdata_version() -> str:
    """The edition of the time zone database in use, such as ``2026b``; ``unknown`` without one.

    Stored beside the times computed with it, so that they are computed again when it changes.
    Python asks the system's database first and the ``tzdata`` package after it; so does this.
    """
    for folder in map(Path, zoneinfo.TZPATH):
        if (folder / "UTC").is_file():
            return edition(folder)
    return edition(importlib.resources.files("tzdata") / "zoneinfo")


def edition(folder: Traversable) -> str:
    """The edition of a compiled database, from either of the files that name it."""
    for name in ("tzdata.zi", "+VERSION"):
        file = folder / name
        if file.is_file():
            with file.open(encoding="ascii", errors="replace") as lines:
                return lines.readline().removeprefix("# version").strip()
    return "unknown"
