"""Lists: one shape for all of them, with cursors that mean nothing to whoever holds them."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any, TypeVar

from fastapi import Query
from pydantic_core import from_json, to_json
from starlette.responses import Response

from koken.errors import InvalidArguments
from koken.web.access.seals import SIGNED_WITH

T = TypeVar("T")
MOST = 1000
"""Members of one page."""
SUM = 6
"""Bytes that tell whether a cursor is one of ours, and of this list."""
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many at most.")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=2000, description="`next` of the page before; opaque, and of this list alone."
    ),
]


def reply(plain: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Plain values as an answer."""
    return Response(
        to_json(plain, inf_nan_mode="null"),
        status_code=status,
        media_type="application/json",
        headers=dict(headers or {}),
    )


def listed(items: Iterable[Any], after: str | None = None, *, status: int = 200) -> Response:
    """A page of a list; ``after`` is the cursor of the next one."""
    return reply({"items": list(items), "next": after}, status)


def written(of: str, position: int | str | list[Any]) -> str:
    """A cursor: where a page has ended of the list and the filters that ``of`` names."""
    text = json.dumps(position).encode()
    return urlsafe_b64encode(checksum(of, text) + text).decode().rstrip("=")


def read(of: str, cursor: str | None) -> Any:
    """The position in a cursor; None for the first page. Raises ``InvalidArguments``."""
    if cursor is None:
        return None
    try:
        found = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except (Error, ValueError):
        found = b""
    text = found[SUM:]
    position: Any = None
    if text and found[:SUM] == checksum(of, text):
        with suppress(ValueError):
            position = from_json(text)
    if position is None or cursor != written(of, position):
        why = "is no cursor of this list with these filters; begin without one"
        raise InvalidArguments(f"cursor {why}", {"cursor": why})
    return position


def checksum(of: str, text: bytes) -> bytes:
    """What a cursor of this list begins with."""
    told = of.encode("utf-8", "replace") + b"\0" + text
    return hashlib.blake2b(told, digest_size=SUM, key=SIGNED_WITH.get()).digest()


def plain(row: Any) -> Any:
    """A row of a view as it goes out, where nothing is to be hidden or added."""
    return row.to_json()


def page(
    of: str,
    rows: list[T],
    limit: int,
    position: Callable[[T], int | str | list[Any]],
    shown: Callable[[T], Any] = plain,
) -> Response:
    """The page of a list of which one more was asked for than it has.

    ``position`` is where a row stands in the list, ``shown`` how it goes out. Without one more
    there is no next page.
    """
    more = written(of, position(rows[limit - 1])) if len(rows) > limit else None
    return listed((shown(row) for row in rows[:limit]), more)
