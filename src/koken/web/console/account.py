"""What is somebody's own: where they are signed in, what they may do, their password."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from koken.engine import access, sessions, signins
from koken.errors import InvalidArguments, NotFound, TooMany
from koken.model.rights import Right
from koken.views import access as views
from koken.web.access import origin
from koken.web.access.door import Someone
from koken.web.access.principal import Kind
from koken.web.console.forms import text
from koken.web.console.pages import page
from koken.web.visit import Visit

router = APIRouter()


@router.get("/account")
async def account(request: Request, visit: Someone) -> Response:
    """The page of who asks."""
    return await own_page(request, visit)


@router.post("/account/password")
async def change_password(request: Request, visit: Someone) -> Response:
    """Another password, for who knows the one until now; ends all other sessions."""
    refuse_others(visit)
    given = await request.form()
    now, new = text(given, "password"), text(given, "new")
    name = visit.principal.name
    address = origin.client_of(request, visit.house.web)
    try:
        await signins.try_sign_in(visit.db, name, address, known=True)
    except TooMany as error:
        return await own_page(request, visit, status=429, problem=str(error))
    known = await visit.house.credentials.user(name, now)
    if known is None:
        return await own_page(request, visit, status=403, problem="That is not your password.")
    await signins.forgive(visit.db, name, address, known=True)
    try:
        hashed = await visit.house.credentials.hashed(new, name)
    except InvalidArguments as error:
        said = str(error)
        problem = f"{said[:1].upper()}{said[1:]}."
        return await own_page(request, visit, status=422, problem=problem)
    await access.set_password(
        visit.db, name, hashed, keep=visit.principal.session, instead=known.password, by=name
    )
    return RedirectResponse("/account?changed=1", 303)


@router.post("/account/sessions")
async def end_others(visit: Someone) -> Response:
    """Sign out everywhere but here."""
    refuse_others(visit)
    name = visit.principal.name
    await sessions.end(visit.db, name, keep=visit.principal.session, by=name, reason=None)
    return RedirectResponse("/account", 303)


def refuse_others(visit: Visit) -> None:
    """Raise ``NotFound`` for who is not signed in here, and so has no account here."""
    if visit.principal.kind is not Kind.USER:
        raise NotFound(f"{visit.principal.name} is not signed in here, and has no password here")


async def own_page(
    request: Request, visit: Visit, *, status: int = 200, problem: str = ""
) -> Response:
    """The page, with what went wrong."""
    browsers = await views.sessions(visit.views, visit.principal.name)
    mine = visit.principal.session.hex()[:16]
    rights = {
        place: [right for right in Right if right in held]
        for place, held in sorted(visit.principal.rights.items())
    }
    return page(
        request,
        visit,
        "account.html",
        status=status,
        problem=problem,
        changed="changed" in request.query_params and not problem,
        rights=rights,
        sessions=browsers if visit.principal.kind is Kind.USER else [],
        mine=mine,
    )
