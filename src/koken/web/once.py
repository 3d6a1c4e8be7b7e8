"""What is sent twice is carried out once: what the API's keys and forms have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from koken.engine import answered
from koken.engine.answered import Reply
from koken.errors import DatabaseUnreachable, KokenError
from koken.model.rights import Right
from koken.web.visit import Visit


async def carried(
    visit: Visit,
    key: str,
    wanted: bytes,
    carry: Callable[[], Awaitable[Response]],
    keeps: Callable[[Response], bool] = lambda _: True,
) -> Response | Reply:
    """Carry out a request, whose hash is ``wanted``; or what was answered to it before.

    ``keeps``: whether an answer is one to give again; another frees the key. Raises as
    ``answered.begin``, and ``Forbidden`` where who asks has lost a right that it took.
    """
    begun = await answered.begin(visit.db, owner_of(visit), key, wanted)
    if isinstance(begun, Reply):
        for workspace, right in begun.needed:
            visit.at(workspace).need(Right(right))
        return begun
    try:
        with answered.carrying(begun):
            found = await carry()
    except Exception as error:
        with suppress(DatabaseUnreachable):
            await answered.forget(visit.db, begun, refused=is_refusal(error))
        raise
    if not keeps(found):
        await answered.forget(visit.db, begun, refused=True)
        return found
    needed = sorted((workspace, right.value) for workspace, right in visit.needed)
    location = found.headers.get("location")
    reply = Reply(found.status_code, bytes(found.body).decode(), location, tuple(needed))
    await answered.keep(visit.db, begun, reply)
    return found


def owner_of(visit: Visit) -> str:
    """Whose a key is: a token's or a user's by number, since others may get the name later."""
    principal = visit.principal
    return f"{principal.kind}:{principal.number or principal.name}:{visit.workspace}"


def is_refusal(error: Exception) -> bool:
    """Whether nothing was done, for all that is known."""
    if isinstance(error, KokenError):
        return error.status < 500
    return isinstance(error, HTTPException | RequestValidationError)


async def digest(request: Request) -> bytes:
    """The same for two requests that want the same."""
    whole = hashlib.sha256()
    for part in (
        request.method.encode(),
        request.url.path.encode("utf-8", "surrogateescape"),
        request.scope["query_string"],
        await request.body(),
    ):
        whole.update(len(part).to_bytes(8) + part)
    return whole.digest()
