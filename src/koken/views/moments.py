"""Moments as queries say them: how long ago, or an instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from koken.errors import InvalidArguments
from koken.model.duration import seconds

BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
Moment = datetime | timedelta
"""An instant, or how long ago."""


def moment(word: str, value: str) -> Moment:
    """What ``word`` says; an instant without an offset is in UTC. Raises ``InvalidArguments``."""
    try:
        return timedelta(seconds=seconds(value, name=word))
    except (ValueError, OverflowError):
        pass
    try:
        found = datetime.fromisoformat(value)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        why = f"{value!r} is neither a duration like 2h nor an instant"
        raise InvalidArguments(f"{word}: {why}", {word: why}) from None


def before(moment: Moment, now: datetime) -> datetime:
    """The instant of a moment; what is further back than time goes is its beginning."""
    if isinstance(moment, datetime):
        return moment
    return now - min(moment, now - BEGINNING)
