"""Instants and numbers as JSON has them."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(instant: datetime | None) -> str | None:
    """An instant as ISO 8601 in UTC, with its offset; None for none."""
    return None if instant is None else instant.astimezone(UTC).isoformat()


def instant_of(text: str | None) -> datetime | None:
    """What ``stamp`` gave."""
    return None if text is None else datetime.fromisoformat(text)


def text_of(number: int | None) -> str | None:
    """An id as JSON has it: a text, since its numbers are not exact that far."""
    return None if number is None else str(number)


def number_of(text: str | None) -> int | None:
    """What ``text_of`` gave."""
    return None if text is None else int(text)
