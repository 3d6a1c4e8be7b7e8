"""Lists: one shape for all of them, with cursors that mean nothing to whoever holds them."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from fastapi import Query
from pydantic_core import to_json
from starlette.responses import Response

from koken.errors import InvalidArguments

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


def answer(plain: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Plain values as an answer."""
    return Response(
        to_json(plain, inf_nan_mode="null"),
        status_code=status,
        media_type="application/json",
        headers=dict(headers or {}),
    )


def listed(items: Iterable[Any], after: str | None = None, *, status: int = 200) -> Response:
    """A page of a list; ``after`` is the cursor of the next one."""
    return answer({"items": list(items), "next": after}, status)


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
    if not text or found[:SUM] != checksum(of, text) or cursor != written(of, json.loads(text)):
        why = "is no cursor of this list with these filters; begin without one"
        raise InvalidArguments(f"cursor {why}", {"cursor": why})
    return json.loads(text)


def checksum(of: str, text: bytes) -> bytes:
    """What a cursor of this list begins with."""
    return hashlib.blake2b(of.encode("utf-8", "replace") + b"\0" + text, digest_size=SUM).digest()


def cut(rows: list[Any], limit: int) -> tuple[list[Any], bool]:
    """The rows of a page of which one more was asked for, and whether there are more."""
    return rows[:limit], len(rows) > limit
