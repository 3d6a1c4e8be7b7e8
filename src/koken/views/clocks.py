"""Instants and lengths of time in words: how long ago, in how long, for how long.

Pure; the time is given.
"""

from __future__ import annotations

from datetime import datetime

from koken.model.duration import in_words
from koken.model.states import WaitCause
from koken.views.cause import HAPPENED, Cause

JUST_NOW = 1.0
"""Seconds around now that no clock tells apart."""
GIVES_UP = (WaitCause.SIGNAL, WaitCause.QUESTION)
"""Waits whose time is not that of what is waited for."""


def ago(instant: datetime | None, now: datetime) -> str:
    """``12 min ago``, ``in 3 h``, ``just now``; ``–`` for no instant."""
    if instant is None:
        return "–"
    length = (now - instant).total_seconds()
    if abs(length) < JUST_NOW:
        return "just now"
    return f"{roughly(length)} ago" if length > 0 else f"in {roughly(-length)}"


def due(instant: datetime | None, now: datetime) -> str:
    """``in 1 s`` also for what is due in less; ``just now`` for what is over due by as little."""
    if instant is not None and 0 < (instant - now).total_seconds() < JUST_NOW:
        return "in 1 s"
    return ago(instant, now)


def so_long(instant: datetime | None, now: datetime) -> str:
    """For how long something has been so: ``for 12 min``; ``–`` for no instant."""
    if instant is None:
        return "–"
    length = (now - instant).total_seconds()
    return "for a moment" if length < JUST_NOW else f"for {roughly(length)}"


def lasted(cause: Cause, now: datetime) -> str:
    """Since when a cause is: ``for 12 min``; of what has happened ``12 min ago``."""
    return (ago if cause.cause in HAPPENED else so_long)(cause.since, now)


def roughly(length: float) -> str:
    """Seconds in one unit, as is enough for how long ago something was."""
    for unit, size, until in (("s", 1, 100), ("min", 60, 5400), ("h", 3600, 172800)):
        if length < until:
            return f"{length / size:.0f} {unit}"
    return f"{length / 86400:.0f} d"


def clock_shape(*instants: datetime) -> str:
    """How times of day are written together: with seconds where one of them has some."""
    return "%H:%M:%S" if any(each.second for each in instants) else "%H:%M"


def length_of(start: datetime | None, end: datetime | None) -> str:
    """The time between two instants."""
    if start is None or end is None:
        return "–"
    return in_words(max((end - start).total_seconds(), 0.0))


def by_then(cause: str, until: datetime, now: datetime) -> str:
    """``due in 3 s``; of a wait that somebody else ends ``gives up in 7 d``."""
    verb = "gives up" if cause in GIVES_UP else "due"
    return f"{verb} {due(until, now)}"
