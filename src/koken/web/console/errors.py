"""The console's own errors, as pages that help: what happened, what is in the way, what next."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response

from koken.errors import (
    Conflict,
    DatabaseUnreachable,
    Forbidden,
    InvalidArguments,
    KokenError,
    NotFound,
    NotSignedIn,
    TooMany,
)
from koken.store.failures import concerns_value, sqlstate
from koken.views import overview
from koken.web.access import door
from koken.web.console.pages import RAIL, page, zone_of
from koken.web.console.timetags import exact
from koken.web.house import House
from koken.web.masking import without_values
from koken.web.visit import Visit

logger = logging.getLogger("koken.web")
SIGN_IN = "/sign-in"
AGAIN = 5
"""Seconds after which a page tries again whose database does not answer."""
READS = ("GET", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a page of an error says."""

    status: int
    title: str
    """The sentence."""
    text: str
    """What the error itself says."""
    hints: Sequence[str] = ()
    """What to do."""
    problems: Mapping[str, str] = field(default_factory=dict)
    links: Sequence[tuple[str, str]] = ()
    """Where to go, and how that is called; the nearest first."""
    headers: Mapping[str, str] = field(default_factory=dict)
    again: int | None = None
    """Seconds after which the page asks again by itself."""


def install(pages: FastAPI) -> None:
    """Have every error of these pages answered by a page."""
    for kind in (KokenError, RequestValidationError, HTTPException, ClientDisconnect, Exception):
        pages.add_exception_handler(kind, respond)


async def respond(request: Request, error: Exception) -> Response:
    """The page of an error."""
    if isinstance(error, NotSignedIn):
        return to_sign_in(request)
    if isinstance(error, ClientDisconnect):
        return Response(status_code=408)  # which nobody hears
    if isinstance(error, HTTPException) and error.status_code < 400:
        return Response(status_code=error.status_code, headers=error.headers)
    visit = None if isinstance(error, DatabaseUnreachable) else await visitor(request)
    told = await tell(request, visit, error)
    return page(request, visit, "error.html", status=told.status, headers=told.headers, told=told)


async def visitor(request: Request) -> Visit | None:
    """Who asks, where that can be known: only then does the page have its rail."""
    try:
        return await door.onlooker(request)
    except KokenError:
        return None


def to_sign_in(request: Request) -> Response:
    """Off to the page where people sign in, and back afterwards."""
    back = request.url.path
    if request.method in READS:
        back += f"?{request.url.query}" if request.url.query else ""
    else:
        back = urlsplit(request.headers.get("referer", "")).path or "/"
    where = f"{SIGN_IN}?next={quote(back, safe='/')}"
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": where})
    return RedirectResponse(where, status_code=303)


async def tell(request: Request, visit: Visit | None, error: Exception) -> Told:
    """What to say of an error."""
    match error:
        case NotFound():
            hint = "It may have been removed after its time, or be in another workspace."
            return not_found(request, str(error), await near(request, visit), hint)
        case Forbidden():
            return Told(
                status=403,
                title="You may not do that.",
                text=str(error),
                hints=["Reading still works; what you may do stands beside your name."],
                links=back(request),
            )
        case Conflict():
            return conflict(request, error)
        case InvalidArguments():
            house: House = request.app.state.house
            error = without_values(error, house.web.mask)
            return Told(
                status=422,
                title="That does not fit, so nothing was done.",
                text=str(error),
                problems=error.problems if len(error.problems) > 1 else {},
                links=back(request),
            )
        case DatabaseUnreachable():
            return Told(
                status=503,
                title="The database does not answer.",
                text=str(error),
                hints=[
                    f"This page tries again every {AGAIN} seconds.",
                    "Workers go on with what they carry; nothing is lost that was started.",
                ],
                links=[(same(request), "Try again now")],
                headers={"Retry-After": str(AGAIN)},
                again=AGAIN if request.method in READS else None,
            )
        case TooMany():
            after = max(round(error.after), 1)
            return Told(
                status=429,
                title="That was too often.",
                text=str(error),
                links=back(request),
                headers={"Retry-After": str(after)},
            )
        case KokenError() if concerns_value(error):
            logger.warning("%r: a value was refused (%s)", request.url.path, sqlstate(error))
            return Told(
                status=422,
                title="That does not fit, so nothing was done.",
                text="Something in it cannot be kept: PostgreSQL cannot read a value.",
                hints=["A character that no keyboard writes, such as NUL, may be among it."],
                links=back(request),
            )
        case KokenError() if error.status >= 500 and sqlstate(error):
            return broken(request, error)
        case KokenError():
            return Told(
                status=error.status,
                title="That did not work.",
                text=str(error),
                links=back(request),
            )
        case RequestValidationError():
            return unreadable(request, error)
        case HTTPException(status_code=404):
            return not_found(request, f"There is no page {request.url.path}.", near_pages(request))
        case HTTPException():
            return refused(request, error)
        case _:
            return broken(request, error)


def not_found(
    request: Request, text: str, links: Sequence[tuple[str, str]], hint: str = ""
) -> Told:
    """Something that is not there."""
    return Told(
        status=404,
        title="There is nothing here.",
        text=sentence(text),
        hints=[hint] if hint else [],
        links=[*links, *back(request)],
    )


def conflict(request: Request, error: Conflict) -> Told:
    """Something stands in the way; with a link to it where it is a run."""
    links = []
    if error.held_by is not None:
        links.append((f"/runs/{error.held_by}", f"Run {error.held_by}, which stands in the way"))
    since = f"It has done so since {exact(error.since, zone_of(request))}." if error.since else ""
    return Told(
        status=error.status,
        title="That is not possible as things stand.",
        text=sentence(str(error)),
        hints=[since] if since else [],
        links=[*links, *back(request)],
    )


def unreadable(request: Request, error: RequestValidationError) -> Told:
    """An address or a form that cannot be read."""
    places = {str(each["loc"][-1]): str(each["msg"]) for each in error.errors()}
    if any(each["loc"][0] == "path" for each in error.errors()):
        return not_found(request, f"There is no page {request.url.path}.", near_pages(request))
    return Told(
        status=422,
        title="That does not fit, so nothing was done.",
        text="Some of what was sent cannot be read.",
        problems=places,
        links=back(request),
    )


def refused(request: Request, error: HTTPException) -> Told:
    """What the web itself refuses."""
    if error.status_code == 405:
        return Told(
            status=405,
            title="This address does something else.",
            text=f"{request.url.path} cannot be asked for by {request.method}.",
            hints=["A form that was sent twice may lead here; go back and look what it did."],
            headers=dict(error.headers or {}),
            links=back(request),
        )
    return Told(
        status=error.status_code,
        title="That did not work.",
        text=sentence(str(error.detail)),
        headers=dict(error.headers or {}),
        links=back(request),
    )


def broken(request: Request, error: Exception) -> Told:
    """An error of ours; its number stands in the log as well."""
    number = secrets.token_hex(4)
    logger.error("error %s at %s %r", number, request.method, request.url.path, exc_info=error)
    return Told(
        status=500,
        title="This page has an error.",
        text=f"It is written down in the log of the console as error {number}.",
        hints=["Runs and workers are not touched by it."],
        links=[(same(request), "Try again"), *back(request)],
    )


def sentence(text: str) -> str:
    """A message as a sentence."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def same(request: Request) -> str:
    """The address that was asked for."""
    if request.method not in READS:
        return came_from(request) or "/"
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def came_from(request: Request) -> str:
    """The page of ours from which somebody came; empty where it was none, or the same."""
    parts = urlsplit(request.headers.get("referer", ""))
    if parts.netloc != request.url.netloc or parts.path == request.url.path:
        return ""
    return parts.path + (f"?{parts.query}" if parts.query else "")


def back(request: Request) -> list[tuple[str, str]]:
    """Where people came from, and where everything begins."""
    found = came_from(request)
    return [*([(found, "Back")] if found not in ("", "/") else []), ("/", "Overview")]


def near_pages(request: Request) -> list[tuple[str, str]]:
    """Pages whose address is like the one that was asked for."""
    places = {place.path: place.name for place in RAIL if place.path != "/"}
    first = "/" + request.url.path.strip("/").partition("/")[0]
    return [(path, places[path]) for path in get_close_matches(first, places, n=2)]


async def near(request: Request, visit: Visit | None) -> list[tuple[str, str]]:
    """Things whose name is like the one that is not there, and the list where it would stand."""
    parts = request.url.path.strip("/").split("/")
    lists = [(each.path, each.name) for each in RAIL if each.path == f"/{parts[0]}"]
    if visit is None or parts[0] != "jobs" or len(parts) < 2:
        return lists
    try:
        names: list[Any] = await overview.job_names(visit.views, visit.workspace)
    except KokenError:
        return lists
    close = get_close_matches(parts[1], names, n=3)
    return [*((f"/jobs/{quote(name)}", name) for name in close), *lists]
