"""Durations as people write them: ``90``, ``"90s"``, ``"1d 6h"``, ``timedelta``."""

from __future__ import annotations

import math
import re
import sys
from datetime import timedelta

from koken.model.shown import shown

Duration = timedelta | float | str
"""A length of time: a ``timedelta``, seconds as a number, or text such as ``"1d 6h"``."""

UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONGEST = 365_250 * 86400.0
"""A thousand years: more leaves the calendar."""
PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)")
WHOLE = re.compile(rf"\s*(?:{PART.pattern}\s*)+")


def seconds(value: Duration, *, name: str = "duration") -> float:
    """The length of ``value`` in seconds.

    ``name`` is the option it came from, for the message.
    Raises ``ValueError`` when it is no duration, is negative, is not finite or is far too long.
    """
    if isinstance(value, bool) or not isinstance(value, timedelta | int | float | str):
        raise ValueError(
            f"{name} is {shown(value)}; write seconds, a timedelta or a text like '90s'"
        )
    if isinstance(value, timedelta):
        length = value.total_seconds()
    elif isinstance(value, str):
        length = parse(value, name=name)
    else:
        length = float(value) if abs(value) < sys.float_info.max else math.inf
    if not math.isfinite(length) or length < 0:
        raise ValueError(f"{name} is {value!r}; a duration is finite and not negative")
    if length > LONGEST:
        raise ValueError(f"{name} is {value!r}; a duration is at most 1,000 years")
    return length


def parse(text: str, *, name: str) -> float:
    """Seconds in a text such as ``"1d 6h"``; a bare number counts seconds."""
    try:
        return float(text)
    except ValueError:
        pass
    if not WHOLE.fullmatch(text):
        raise ValueError(f"{name} is {text!r}; write it as '90s', '5m', '12h' or '1d 6h'")
    return sum(float(number) * UNIT_SECONDS[unit] for number, unit in PART.findall(text))


def in_words(length: float) -> str:
    """Seconds as people read them: ``0.2 s``, ``45 s``, ``4 min``, ``1 h 04 min``, ``3 d 2 h``."""
    if length < 1:
        return f"{length * 1000:.0f} ms"
    if length < 60:
        return f"{length:.1f} s" if length < 10 else f"{length:.0f} s"
    minutes = round(length / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = round(length / 3600)
    return f"{hours // 24} d {hours % 24} h"
