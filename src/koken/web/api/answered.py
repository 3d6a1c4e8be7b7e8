"""``Idempotency-Key``: a write that is sent twice is carried out once."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from koken.engine.answered import Reply
from koken.errors import InvalidArguments
from koken.web.access import door
from koken.web.api.strict import Strict
from koken.web.once import carried, digest

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


class Once(Strict):
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
            wanted = await digest(request)
            found = await carried(visit, key, wanted, lambda: carry(request))
            return again(found) if isinstance(found, Reply) else found

        return once


def again(reply: Reply) -> Response:
    """What was answered before."""
    headers = {REPLAYED: "true"}
    if reply.location is not None:
        headers["Location"] = reply.location
    return Response(reply.body, reply.status, media_type="application/json", headers=headers)
