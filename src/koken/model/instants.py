"""Instants as people and programs write them.

Through the API, in the terminal and in addresses an instant has its offset. In a form it is what
the clock of the form's zone shows, unless an offset stands with it.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Any

from koken.errors import InvalidArguments
from koken.model import zones


def read(text: Any) -> datetime:
    """An instant from ISO 8601, with an offset or without. Raises ``ValueError``."""
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise ValueError(f"{text!r} is no instant; write it as 2026-03-08T00:00:00-05:00") from None


def with_offset(text: str, option: str) -> datetime:
    """An instant that is given as ``option``. Raises ``InvalidArguments``, also for a naive one."""
    try:
        found = read(text)
    except ValueError:
        raise InvalidArguments(
            f"{option} is {text!r}; write it as 2026-03-08T00:00:00-05:00", {option: "is odd"}
        ) from None
    if found.utcoffset() is None:
        raise InvalidArguments(
            f"{option} {text!r} has no time zone; add one, such as {found.isoformat()}+00:00",
            {option: "has no time zone"},
        )
    try:
        return zones.within_years(found)
    except ValueError as error:
        raise InvalidArguments(f"{option}: {error}", {option: str(error)}) from None


def on_clock(text: str, zone: tzinfo) -> datetime:
    """An instant from a form: without an offset it is what a clock in ``zone`` shows.

    Raises ``ValueError``, also for a time that this clock leaves out.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no date with a time; write it as 2026-03-08 00:00") from None
    try:
        if found.utcoffset() is not None:
            return zones.within_years(found)
        there = zones.within_years(found.replace(tzinfo=zone))
    except (OverflowError, ValueError):
        raise ValueError(f"{text!r} is out of the years that there are") from None
    if there.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != found:
        raise ValueError(f"{text!r} does not exist in {zone}: the clock goes forward")
    return there
