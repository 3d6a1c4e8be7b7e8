"""The pages of who may come in: users with their roles, tokens, sessions, hooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from koken.model.hooks import SCHEMES
from koken.model.rights import EVERYWHERE, ROLES, Right
from koken.views import access as views
from koken.views import hooks as hookviews
from koken.views import words, workspaces
from koken.web.access.door import Administering
from koken.web.console.pages import page
from koken.web.giving import places
from koken.web.visit import Visit

router = APIRouter()
TABS = (("Users", ""), ("Tokens", "/tokens"), ("Sessions", "/sessions"), ("Hooks", "/hooks"))
SESSIONS = 500
"""Browsers that the page shows at most."""
LIFETIMES = (("30d", "30 days"), ("90d", "90 days"), ("365d", "a year"), ("", "until revoked"))

NOTHING: dict[str, Any] = {
    "users": (),
    "tokens": (),
    "sessions": (),
    "hooks": (),
    "revoked": False,
}
"""What the tabs that are not shown have."""


@router.get("/access")
async def users(request: Request, visit: Administering) -> HTMLResponse:
    """Those who sign in, and what they may do where."""
    found = await views.users(visit.views, places(visit))
    off = sum(row.disabled_at is not None for row in found)
    told = f"{words.counted(len(found), 'user')}{f'; {off} may not come in' if off else ''}"
    return await show(
        request,
        visit,
        "",
        f"{told}." if found else "Nobody has been given a user yet.",
        users=found,
        begins=lambda row, places: begins(row.roles, places),
    )


@router.get("/access/tokens")
async def tokens(request: Request, visit: Administering, revoked: bool = False) -> HTMLResponse:
    """Keys of programs."""
    found = await views.tokens(visit.views, places(visit), revoked=revoked)
    good = sum(row.standing == "good" for row in found)
    told = f"{words.counted(good, 'token')} {'is' if good == 1 else 'are'} good."
    return await show(request, visit, "/tokens", told, tokens=found, revoked=revoked)


@router.get("/access/sessions")
async def sessions(request: Request, visit: Administering) -> HTMLResponse:
    """Browsers in which people are signed in; for who administers everything."""
    visit.need_everywhere(Right.ADMINISTER, "sessions")
    found = await views.sessions(visit.views, limit=SESSIONS + 1)
    told = f"{words.counted(len(found), 'browser')} signed in." if found else "Nobody is signed in."
    if len(found) > SESSIONS:
        told = f"More than {SESSIONS:,} browsers signed in; those last seen are shown."
    return await show(request, visit, "/sessions", told, sessions=found[:SESSIONS])


@router.get("/access/hooks")
async def hooks(request: Request, visit: Administering) -> HTMLResponse:
    """Addresses under which other systems start a job."""
    found = await hookviews.hooks(visit.views, [visit.workspace])
    told = f"{words.counted(len(found), 'hook')} in {visit.workspace}."
    return await show(request, visit, "/hooks", told, hooks=found)


async def show(
    request: Request, visit: Visit, tab: str, sentence: str, **values: Any
) -> HTMLResponse:
    """A tab of the page; nothing of it is kept by a browser."""
    return page(
        request,
        visit,
        "access.html",
        headers={"Cache-Control": "no-store"},
        tab=tab,
        tabs=[each for each in TABS if each[1] != "/sessions" or everywhere(visit)],
        sentence=sentence,
        places=await offered(visit),
        roles=ROLES,
        rights=tuple(Right),
        schemes=SCHEMES,
        lifetimes=LIFETIMES,
        everywhere=everywhere(visit),
        **NOTHING | values,
    )


def made(
    request: Request, visit: Visit, tab: str, *, what: str, secret: str, use: Sequence[str]
) -> HTMLResponse:
    """A secret that was just made: in the answer itself, in no address, and kept by no browser."""
    return page(
        request,
        visit,
        "made.html",
        status=201,
        headers={"Cache-Control": "no-store"},
        tab=tab,
        what=what,
        secret=secret,
        use=use,
    )


def everywhere(visit: Visit) -> bool:
    """Whether who asks administers everything."""
    return visit.principal.everywhere(Right.ADMINISTER)


def begins(roles: Mapping[str, str], places: Sequence[str]) -> tuple[str, str]:
    """With which role, and where, the form begins that changes what somebody is.

    With what they are, first of all in this workspace, which is the first of ``places``.
    """
    place = next((each for each in places if each in roles), places[0])
    return roles.get(place, ROLES[0]), place


async def offered(visit: Visit) -> list[str]:
    """The workspaces for which who asks may give something."""
    if not everywhere(visit):
        return [visit.workspace]
    names = [row.name for row in await workspaces.workspaces(visit.views)]
    return [visit.workspace, *(name for name in names if name != visit.workspace), EVERYWHERE]
