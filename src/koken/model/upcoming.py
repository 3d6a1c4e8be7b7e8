"""When an expression that somebody gives is due: understood, and counted on from an instant."""

from __future__ import annotations

from datetime import datetime

from koken.errors import InvalidArguments
from koken.model import expression, zones
from koken.model.expression import Expression


def understood(text: str, timezone: str, option: str = "timezone") -> Expression:
    """An expression in a zone, given as ``option``.

    Raises ``InvalidArguments`` when the expression names another one itself.
    """
    found = expression.parse(text, timezone or "UTC")
    if timezone and found.names_zone and found.timezone != timezone:
        raise InvalidArguments(
            f"{text!r} names {found.timezone}, and {option} is {timezone!r}. Keep one of them"
        )
    return found


def times(found: Expression, after: datetime, number: int) -> list[datetime]:
    """The first due times after an instant."""
    due: list[datetime] = []
    while len(due) < number:
        following = found.next(due[-1] if due else after)
        if following is None:
            break
        due.append(following)
    return due


def instant(text: str, option: str) -> datetime:
    """An instant that somebody gives as ``option``. Raises ``InvalidArguments``."""
    try:
        found = datetime.fromisoformat(text)
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
