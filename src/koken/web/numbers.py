"""Numbers of things in addresses."""

from __future__ import annotations

from koken.errors import NotFound
from koken.views.query import is_id


def number_of(what: str, text: str) -> int:
    """The number of a thing. Raises ``NotFound`` for what is none's."""
    if not is_id(text):
        raise NotFound(f"there is no {what} {text[:40]}")
    return int(text)
