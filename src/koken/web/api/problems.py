"""Errors as problems (RFC 9457): one shape for whatever is refused, with a code that stays."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as RouterError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from koken.define.problems import in_words, path_of
from koken.errors import (
    Conflict,
    DatabaseUnreachable,
    InProgress,
    InvalidArguments,
    KokenError,
    NotSignedIn,
    TooMany,
)
from koken.model.plain import stamp
from koken.store.failures import concerns_value, sqlstate
from koken.views import runs
from koken.views.locks import operation_of
from koken.web.access import door
from koken.web.faults import problem_of
from koken.web.house import House
from koken.web.limits import OF_JSON, limited, too_large
from koken.web.masking import problems_shown, without_values

log = logging.getLogger("koken.web")
MEDIA = "application/problem+json"
SLOT = re.compile(r"\\\{[^/]+?\\\}")
"""A parameter in the path of a route, escaped."""
UNREADABLE = ("json_invalid", "value_error.jsondecode")
CODES = {
    400: "malformed",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "wrong_media_type",
}
"""Of what the router itself refuses."""


def problem(
    request: Request,
    status: int,
    code: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    **members: Any,
) -> Response:
    """The answer to a request that is refused."""
    base = request.app.state.house.web.url
    plain = problem_of(code, detail, base=base, path=request.url.path, status=status, **members)
    return Response(
        json.dumps(plain), status_code=status, media_type=MEDIA, headers=dict(headers or {})
    )


async def of_koken(request: Request, error: Exception) -> Response:
    """What Koken refuses or reports."""
    if not isinstance(error, KokenError):
        raise error
    members: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if concerns_value(error):
        said = sqlstate(error)
        log.warning("%s %r: a value was refused (%s)", request.method, request.url.path, said)
    if isinstance(error, InvalidArguments):
        house: House = request.app.state.house
        error = without_values(error, house.web.mask)
        members["problems"] = error.problems
    elif isinstance(error, Conflict):
        members = await standing_in_the_way(request, error)
        if isinstance(error, InProgress):
            headers["Retry-After"] = seconds(error.after)
    elif isinstance(error, TooMany):
        members["after"] = error.after
        headers["Retry-After"] = seconds(error.after)
    elif isinstance(error, NotSignedIn):
        headers["WWW-Authenticate"] = "Bearer"
    elif isinstance(error, DatabaseUnreachable):
        log.warning("%s %r: %s", request.method, request.url.path, error)
        return problem(request, 503, error.code, "PostgreSQL does not answer; try again")
    elif error.status >= 500:
        if not concerns_value(error):
            return internal(request, error)
        return problem(
            request, 422, "invalid_arguments", "PostgreSQL cannot read a value", problems={}
        )
    return problem(request, error.status, error.code, str(error), headers=headers, **members)


def seconds(after: float) -> str:
    """When to ask again, as a header says it."""
    return str(max(1, math.ceil(after)))


async def standing_in_the_way(request: Request, error: Conflict) -> dict[str, Any]:
    """What stands in the way, which run holds it, and since when; only what the asker may see."""
    held_by = None
    if error.held_by is not None:
        with suppress(KokenError, RouterError):  # a signed hook is nobody, and is told no more
            visit = await door.visit(request)
            holder = (await runs.get_many(visit.views, [error.held_by])).get(error.held_by)
            if holder is not None and visit.principal.sees(holder.workspace):
                operation = await operation_of(visit.views, holder.id)
                held_by = {"run": str(holder.id), "job": holder.job, "operation": operation}
    return {"what": error.what, "held_by": held_by, "since": stamp(error.since)}


async def of_router(request: Request, error: Exception) -> Response:
    """What the router refuses: no such route, no such method, too large a body."""
    if not isinstance(error, RouterError):
        raise error
    code = CODES.get(error.status_code, HTTPStatus(error.status_code).phrase.lower())
    detail = str(error.detail)
    headers = dict(error.headers or {})
    if error.status_code == 404:
        detail = f"there is nothing at {request.url.path}; openapi.json lists what there is"
    elif error.status_code == 405:
        headers["Allow"] = ", ".join(methods_of(request))
        detail = f"{request.method} is none of what {request.url.path} takes"
    elif error.status_code == 400:
        detail = "the body cannot be read; it is JSON in UTF-8"
    return problem(request, error.status_code, code.replace(" ", "_"), detail, headers=headers)


def methods_of(request: Request) -> list[str]:
    """What can be done at the path of a request, by the description."""
    asked = request.scope["path"].removeprefix(request.scope["root_path"])
    found: set[str] = set()
    for path, operations in request.app.openapi()["paths"].items():
        form = SLOT.sub("[^/]+", re.escape(path))
        if re.fullmatch(form, asked):
            found |= {method.upper() for method in operations}
    return sorted(found)


async def of_validation(request: Request, error: Exception) -> Response:
    """What does not have the form that the route says."""
    if not isinstance(error, RequestValidationError):
        raise error
    problems: dict[str, str] = {}
    for detail in error.errors():
        if detail["type"] in UNREADABLE:
            return problem(
                request, 400, "malformed", "the body cannot be read; it is JSON in UTF-8"
            )
        part, *path = detail["loc"]
        where = path_of(tuple(path)) or str(part)
        problems.setdefault(where, in_words(detail))
    house: House = request.app.state.house
    problems = problems_shown(problems, house.web.mask)
    told = "; ".join(f"{where}: {why}" for where, why in problems.items())
    return problem(request, 422, "invalid_arguments", f"{told}.", problems=problems)


async def of_gone(request: Request, _: Exception) -> Response:
    """The answer to who has gone before all of the request was there; nobody hears it."""
    return problem(request, 408, "malformed", "the body did not come to its end")


def internal(request: Request, error: BaseException) -> Response:
    """What nobody foresaw: told by a number under which the log has the rest."""
    number = str(uuid4())
    log.error("%s %r failed (%s)", request.method, request.url.path, number, exc_info=error)
    detail = f"Koken failed; its log has more under {number}"
    return problem(request, 500, "internal", detail, id=number)


class Guard:
    """Around all routes: bodies that are too large are not read on, and no error gets out raw."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        begun = False

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if announced(request) > OF_JSON:
                await (await of_router(request, too_large(OF_JSON)))(scope, receive, send)
                return
            await self.app(scope, limited(receive, OF_JSON), sent)
        except Exception as error:
            if begun:
                raise
            await internal(request, error)(scope, receive, send)


def announced(request: Request) -> int:
    """How long a body says that it is."""
    text = request.headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def install(app: FastAPI) -> None:
    """Have an application answer errors as problems."""
    app.add_exception_handler(KokenError, of_koken)
    app.add_exception_handler(RouterError, of_router)
    app.add_exception_handler(RequestValidationError, of_validation)
    app.add_exception_handler(ClientDisconnect, of_gone)
    app.add_middleware(Guard)
