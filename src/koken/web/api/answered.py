"""``Idempotency-Key``: a write that is sent twice is carried out once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from koken.engine import answered
from koken.engine.answered import Answer
from koken.errors import InvalidArguments, KokenError
from koken.model.rights import Right
from koken.web.access import door
from koken.web.visit import Visit

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEY = re.compile(r"^[!-~]([ -~]{0,253}[!-~])?$")
PARAMETER: dict[str, Any] = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": KEY.pattern},
    "description": "The same request under the same key is carried out once, for 24 hours.",
}
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def key_of(request: Request) -> str | None:
    """The key of a request. Raises ``InvalidArguments`` for one that cannot be."""
    found = request.headers.get(HEADER)
    if found is not None and not KEY.fullmatch(found):
        why = "is 1 to 255 characters of ASCII, without blanks at its ends"
        raise InvalidArguments(f"{HEADER} {why}", {HEADER: why})
    return found


def promising(extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is described of a route, with the key that it looks at."""
    described = dict(extra or {})
    given = described.get("parameters", [])
    if PARAMETER not in given:
        described["parameters"] = [*given, PARAMETER]
    return described


class Once(APIRoute):
    """A route whose writes are carried out once under one key; others get the same answer."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not set(options.get("methods") or ()).isdisjoint(WRITES):
            options["openapi_extra"] = promising(options.get("openapi_extra"))
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with the key looked at before."""
        carry = super().get_route_handler()

        async def once(request: Request) -> Response:
            key = key_of(request) if request.method in WRITES else None
            if key is None:
                return await carry(request)
            visit = await door.visit(request)
            return await carried(request, visit, key, carry)

        return once


async def carried(
    request: Request,
    visit: Visit,
    key: str,
    carry: Callable[[Request], Coroutine[Any, Any, Response]],
) -> Response:
    """Carry a request out, or give the answer that it got before.

    Raises ``Forbidden`` where who asks has lost a right that it took.
    """
    owner = owner_of(visit)
    wanted = await fingerprint(request)
    before = await answered.begin(visit.db, owner, key, wanted)
    if before is not None:
        for workspace, right in before.needed:
            visit.at(workspace).need(Right(right))
        headers = {REPLAYED: "true"}
        if before.location is not None:
            headers["Location"] = before.location
        return Response(before.body, before.status, media_type="application/json", headers=headers)
    try:
        found = await carry(request)
    except Exception as error:
        if not carried_on(error):
            await answered.forget(visit.db, owner, key, wanted)
        raise
    body = bytes(found.body).decode()
    needed = sorted((workspace, right.value) for workspace, right in visit.needed)
    answer = Answer(found.status_code, body, found.headers.get("location"), tuple(needed))
    await answered.keep(visit.db, owner, key, wanted, answer)
    return found


def owner_of(visit: Visit) -> str:
    """Whose a key is: a token's or a user's by number, since others may get the name later."""
    principal = visit.principal
    return f"{principal.kind}:{principal.number or principal.name}:{visit.workspace}"


def carried_on(error: Exception) -> bool:
    """Whether something may have been done, for all that is known."""
    refused = isinstance(error, HTTPException | RequestValidationError)
    return not refused and (not isinstance(error, KokenError) or error.status >= 500)


async def fingerprint(request: Request) -> bytes:
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
