"""Times in pages: elements whose text is true when the page is made, and kept true by a script.

The exact instant stands in the title, in the reader's zone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

from markupsafe import Markup

from koken.model.duration import in_words
from koken.model.run import Run
from koken.views import clocks, runwords

NONE = Markup("–")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)")
"""An instant with its offset, as events keep it."""


def exact(instant: datetime, zone: tzinfo) -> str:
    """An instant to the second, with its zone: ``2026-11-30 20:00:00 CET``."""
    return f"{instant.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"


def clock(instant: datetime | None, zone: tzinfo, shape: str = "%H:%M:%S") -> Markup:
    """An instant in the reader's zone; this does not change."""
    if instant is None:
        return NONE
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        instant.isoformat(), exact(instant, zone), f"{instant.astimezone(zone):{shape}}"
    )


def in_zone(value: Any, zone: tzinfo) -> Any:
    """A plain value with the instants in it as ``exact`` tells them."""
    if isinstance(value, dict):
        return {name: in_zone(each, zone) for name, each in value.items()}
    if isinstance(value, list):
        return [in_zone(each, zone) for each in value]
    if isinstance(value, str) and INSTANT.fullmatch(value):
        return exact(datetime.fromisoformat(value), zone)
    return value


def length(seconds: float | None) -> str:
    """Seconds in words: ``1 h 4 min``."""
    return "–" if seconds is None else in_words(max(seconds, 0.0))


@dataclass(frozen=True, slots=True)
class Times:
    """Tells times as they are now, for a reader in a zone."""

    now: datetime
    zone: tzinfo

    def ago(self, instant: datetime | None) -> Markup:
        """``12 min ago``, ``in 3 h``."""
        if instant is None:
            return NONE
        return Markup('<time datetime="{}" title="{}" data-ago>{}</time>').format(
            instant.isoformat(), exact(instant, self.zone), clocks.due(instant, self.now)
        )

    def due(self, instant: datetime, verb: str = "due", was: str = "was due") -> Markup:
        """When something comes: ``due in 3 h``; past that, that it should have: ``was due …``."""
        text = '<time datetime="{}" title="{}" data-due="{}" data-was="{}">{} {}</time>'
        told = verb if instant >= self.now else was
        when = clocks.due(instant, self.now)
        return Markup(text).format(
            instant.isoformat(), exact(instant, self.zone), verb, was, told, when
        )

    def so_long(self, instant: datetime | None) -> Markup:
        """For how long something has been so: ``for 12 min``."""
        if instant is None:
            return NONE
        return Markup('<time datetime="{}" title="{}" data-so-long>{}</time>').format(
            instant.isoformat(), exact(instant, self.zone), clocks.so_long(instant, self.now)
        )

    def lasting(self, seconds: float) -> Markup:
        """How long something goes by now, to the second: ``2 min 7 s``."""
        began = self.now - timedelta(seconds=seconds)
        return Markup('<time datetime="{}" title="since {}" data-since>{}</time>').format(
            began.isoformat(), exact(began, self.zone), length(seconds)
        )

    def took(self, run: Run[Any]) -> str:
        """How long a run was at work, or is by now."""
        told, began = runwords.took(run, self.now), runwords.begun(run)
        if run.ended_at is not None or began is None or told == "–":
            return told
        return self.lasting((self.now - began).total_seconds())
