"""The options of a schedule, one by one: what each may be, and the message when it is not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from koken.errors import DeclarationError
from koken.model import duration
from koken.model.duration import Duration
from koken.model.shown import shown

MOST_CAUGHT_UP = 10_000
"""Missed due times that are made up for one by one."""


def args(values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of ``values``, which must be JSON values by name."""
    for key, value in values.items():
        if not is_json({key: value}):
            raise DeclarationError(
                f"args[{key!r}] is {type(value).__name__}; give what JSON can hold: text, "
                "numbers, booleans, lists and maps."
            )
    return dict(values)


def is_json(value: object) -> bool:
    """Whether ``value`` comes back from JSON as it went."""
    match value:
        case None | bool() | int() | str():
            return True
        case float():
            return math.isfinite(value)
        case list():
            return all(map(is_json, value))
        case dict():
            return all(isinstance(key, str) and is_json(item) for key, item in value.items())
    return False


def name(value: object) -> str:
    """The name, a text."""
    if not isinstance(value, str):
        raise DeclarationError(f"name is {shown(value)}; write a text.")
    return value


def limit(value: object) -> int:
    """The limit, a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise DeclarationError(f"catchup_limit is {shown(value)}; write a whole number above 0.")
    if value > MOST_CAUGHT_UP:
        raise DeclarationError(f"catchup_limit is {value}; the most is {MOST_CAUGHT_UP:,}.")
    return value


def jitter(value: Duration) -> float:
    """The jitter in seconds."""
    try:
        return duration.seconds(value, name="jitter")
    except ValueError as error:
        raise DeclarationError(f"{error}.") from None


def instant(value: object, *, name: str) -> datetime | None:
    """The instant in UTC; it must be aware."""
    if value is None:
        return None
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise DeclarationError(
            f"{name} is {shown(value)}; write an instant with its offset, such as "
            "2026-12-01T00:00:00+01:00."
        )
    return value.astimezone(UTC)


def parsed_instant(text: str, *, name: str) -> datetime | None:
    """The instant that an ISO 8601 text names."""
    try:
        return instant(datetime.fromisoformat(text), name=name)
    except ValueError:
        return instant(text, name=name)
