"""When an expression that somebody gives is due: understood, and counted on from an instant."""

from __future__ import annotations

from datetime import datetime

from koken.errors import InvalidArguments
from koken.model import expression
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
