"""How one start differs from what its job says: the values of ``job.using``, one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from koken.define import checks
from koken.define.problems import invalid
from koken.errors import DeclarationError
from koken.model import zones
from koken.model.duration import seconds
from koken.model.job import StartOptions
from koken.model.shown import shown

KEY_LIMIT = 500
"""Characters of an idempotency key."""


def changed(job: str, before: StartOptions, wanted: Mapping[str, Any]) -> StartOptions:
    """The options of a start with those in ``wanted`` that are set."""
    found: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for option, value in wanted.items():
        if value is None:
            continue
        try:
            found[option] = START[option](value)
        except (DeclarationError, ValueError) as error:
            problems[option] = str(error)
    after = replace(before, **found)
    if after.run_at is not None and after.delay is not None:
        problems["delay"] = "run_at and delay both say when; give one of them"
    if problems:
        raise invalid(f"{job}.using", problems)
    return after


def aware(value: datetime) -> datetime:
    """An instant; refuses one without a time zone."""
    if not isinstance(value, datetime):
        raise ValueError(f"{shown(value)} is not an instant; give a datetime with a time zone")
    if value.utcoffset() is None:
        raise ValueError(f"{value.isoformat()} has no time zone; add one, such as tzinfo=UTC")
    return zones.within_years(value)


def key(value: str) -> str:
    """An idempotency key."""
    found = checks.filled(value, "the key")
    if len(found) > KEY_LIMIT:
        raise ValueError(f"the key has {len(found)} characters; the limit is {KEY_LIMIT}")
    return found


START: dict[str, Callable[[Any], Any]] = {
    "run_at": aware,
    "delay": lambda value: seconds(value, name="delay"),
    "priority": checks.priority,
    "queue": lambda value: checks.name(value, "queue"),
    "idempotency_key": key,
    "overlap": checks.overlap,
    "logical_time": aware,
}
