"""How much of a request is read; what is longer is refused, and not read on."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

from koken.model.web import BODY_LIMIT

OF_REQUEST = 2 * 1024 * 1024
"""Bytes of a body, whatever is asked; forms write one byte as three."""
OF_JSON = BODY_LIMIT
"""Bytes of a body of the API."""


def limited(receive: Receive, most: int) -> Receive:
    """Receive a body up to a limit. Raises ``HTTPException`` beyond."""
    read = 0

    async def received() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise too_large(most)
        return message

    return received


def too_large(most: int) -> HTTPException:
    """The error for a body over the limit."""
    return HTTPException(413, f"a body has at most {most:,} bytes", headers={"Connection": "close"})
