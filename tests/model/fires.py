"""Walks an expression from fire to fire."""

from __future__ import annotations

from datetime import datetime

from koken.model.expression import parse


def fires(expression: str, after: str, count: int, timezone: str = "UTC") -> list[str]:
    """The next ``count`` fires, as ISO texts."""
    understood = parse(expression, timezone)
    found, at = [], datetime.fromisoformat(after)
    for _ in range(count):
        due = understood.next(at)
        assert due is not None
        found.append(due.isoformat())
        at = due
    return found
