"""What a form says: the texts of its fields, and the reason that is kept for the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query

from koken.errors import InvalidArguments

Asked = Annotated[str, Query(max_length=2000)]
"""A query that somebody has typed."""
LONGEST_REASON = 2000
"""Characters; the fields of pages take no more either."""


def text(form: Mapping[str, Any], name: str) -> str:
    """What stands in a field, with the ends of lines as they are elsewhere; empty for none.

    Raises ``InvalidArguments`` where a file was sent instead.
    """
    found = form.get(name, "")
    if not isinstance(found, str):
        raise InvalidArguments(f"{name} is a file; write a text. Nothing was done")
    return found.replace("\r\n", "\n")


def reason(form: Mapping[str, Any]) -> str | None:
    """Why, for the record. Raises ``InvalidArguments`` where it is longer than can be kept."""
    found = text(form, "reason").strip()
    if len(found) > LONGEST_REASON:
        raise InvalidArguments(
            f"the reason has {len(found):,} characters; it may have {LONGEST_REASON:,}. "
            "Nothing was done"
        )
    return found or None
