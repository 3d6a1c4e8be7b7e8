"""Numbers of things, as addresses have them."""

from __future__ import annotations

from koken.errors import InvalidArguments, NotFound
from koken.views.query import LARGEST_ID, is_id

LARGEST_OF_FEW = 2**31 - 1
"""The number that a thing of which there are few may have: a schedule."""


def number_in_path(what: str, text: str, largest: int = LARGEST_ID) -> int:
    """The number of a thing that a path leads to. Raises ``NotFound`` for what is none's."""
    if not is_id(text) or int(text) > largest:
        raise NotFound(f"there is no {what} {text[:40]}")
    return int(text)


def number_in_query(name: str, text: str, what: str) -> int:
    """The number of a thing that a parameter names. Raises ``InvalidArguments``."""
    if not is_id(text):
        why = f"is no number of a {what}"
        raise InvalidArguments(f"{name} {why}", {name: why})
    return int(text)
