"""How people sign in and out: with a password here, or by an issuer that vouches for them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from koken.engine import sessions, signins
from koken.errors import Conflict, Forbidden, KokenError, NotFound, NotSignedIn, TooMany
from koken.model.names import folded
from koken.web.access import origin, seals
from koken.web.access.door import SESSION, YEAR, known
from koken.web.access.issuer import Errand, IssuerUnreachable, Unvouched
from koken.web.access.porch import set_cookie
from koken.web.access.principal import Kind
from koken.web.address import base_of
from koken.web.console.forms import text
from koken.web.console.pages import page
from koken.web.house import House

router = APIRouter()
ERRAND = "koken_errand"
"""The cookie with what we remember while somebody is at the issuer's."""
AWAY = 600.0
"""Seconds that somebody has there."""
KNOWN = "koken_known"
"""The cookie of a browser in which somebody signed in: what others try does not hold it up."""
WRONG = "Name or password is wrong."
THERE, BACK = "/sign-in/issuer", "/sign-in/answer"


@router.get("/sign-in")
async def sign_in_page(request: Request) -> Response:
    """Where people sign in; who is signed in can leave here, also without any role."""
    back = origin.safe_path(request.query_params.get("next", "/"))
    try:
        principal, proof = await known(request, request.app.state.house)
    except NotSignedIn:
        return form(request, back)
    here = principal.name if principal.kind is Kind.USER else ""
    return form(request, back, here=here, proof=proof)


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Sign in with name and password."""
    house: House = request.app.state.house
    if not origin.is_ours(request, house.web):
        raise Forbidden("this was sent by a page of another site; nobody was signed in")
    given = await request.form()
    name, password = text(given, "name").strip(), text(given, "password")
    back = origin.safe_path(text(given, "next"))
    address = origin.client_of(request, house.web)
    known_here = await is_known(request, house, name)
    try:
        await signins.try_sign_in(house.db, name, address, known=known_here)
    except TooMany as error:
        after = {"Retry-After": str(max(1, round(error.after)))}
        return form(request, back, status=429, name=name, problem=str(error), headers=after)
    user = await house.credentials.user(name, password)
    if user is None:
        return form(request, back, status=401, name=name, problem=WRONG)
    found = await signed_in(request, user.id, back, password=user.password)
    if found is None:
        return form(request, back, status=401, name=name, problem=WRONG)
    await signins.forgive(house.db, name, address, known=known_here)
    await make_known(request, house, name)
    return found


@router.get(THERE)
async def to_issuer(request: Request) -> Response:
    """Off to the issuer. A link and no form: a form may not lead to another site."""
    house: House = request.app.state.house
    if not house.web.issuer:
        raise NotFound("nobody vouches for people here; they sign in with a password")
    errand = Errand.begin()
    try:
        there = await house.issuer.way_there(errand, base_of(request) + BACK)
    except (Unvouched, IssuerUnreachable) as error:
        return failed(request, error)
    kept = {
        "state": errand.state,
        "nonce": errand.nonce,
        "verifier": errand.verifier,
        "next": origin.safe_path(request.query_params.get("next", "/")),
    }
    key = await house.credentials.key()
    remember(request, house, seals.sealed(key, ERRAND, kept, seconds=AWAY))
    return RedirectResponse(there, 303)


@router.get(BACK)
async def from_issuer(request: Request) -> Response:
    """Back from the issuer, which says who that is."""
    house: House = request.app.state.house
    if not house.web.issuer:
        raise NotFound("nobody vouches for people here; they sign in with a password")
    key = await house.credentials.key()
    kept = seals.unsealed(key, ERRAND, request.cookies.get(ERRAND, ""))
    remember(request, house, "")
    asked = request.query_params
    try:
        if kept is None or not seals.same(asked.get("state", ""), kept["state"]):
            raise Unvouched("this sign-in was not begun here, or too long ago; begin anew")
        if asked.get("iss", house.web.issuer).rstrip("/") != house.web.issuer:
            raise Unvouched("another issuer answered than the one that was asked")
        if "code" not in asked:
            said = asked.get("error_description") or asked.get("error") or "no answer"
            raise Unvouched(f"the issuer says: {said}")
        errand = Errand(kept["state"], kept["nonce"], kept["verifier"])
        vouched = await house.issuer.vouch(errand, asked["code"], base_of(request) + BACK)
        roles = house.web.roles_for(vouched.groups)
        user = await signins.vouched(
            house.db, vouched.issuer, vouched.subject, vouched.names, roles
        )
        if user is None:
            raise Unvouched(
                f"the issuer vouches for {(*vouched.names, vouched.subject)[0]}, who has no role "
                "in Koken. Somebody who administers Koken can give you one"
            )
        found = await signed_in(request, user[0], kept["next"])
        if found is None:
            raise Unvouched(f"{user[1]} may not come in any more")
    except (Unvouched, IssuerUnreachable, Conflict) as error:
        return failed(request, error)
    return found


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """Sign out in this browser."""
    house: House = request.app.state.house
    principal, _ = await known(request, house)
    await sessions.close_session(house.db, principal.session)
    secure = origin.is_secure(request, house.web)
    set_cookie(request.scope, SESSION, "", secure=secure, seconds=0)
    return RedirectResponse("/sign-in", 303)


async def signed_in(
    request: Request, user_id: int, back: str, *, password: str | None = None
) -> Response | None:
    """A session made anew, so that nobody can have known it before, and on to where people were.

    None where they may not come in any more, or ``password`` is the hash of a former one.
    """
    house: House = request.app.state.house
    session = await sessions.open_session(
        house.db,
        user_id,
        password=password,
        seconds=house.web.session,
        address=origin.client_of(request, house.web),
        agent=request.headers.get("user-agent", ""),
        instead=request.cookies.get(SESSION, ""),
    )
    if session is None:
        return None
    secure = origin.is_secure(request, house.web)
    set_cookie(request.scope, SESSION, session, secure=secure, seconds=house.web.session)
    return RedirectResponse(back, 303)


async def is_known(request: Request, house: House, name: str) -> bool:
    """Whether somebody of that name has signed in in this browser before."""
    kept = seals.unsealed(await house.credentials.key(), KNOWN, request.cookies.get(KNOWN, ""))
    return kept is not None and kept["name"] == folded(name)


async def make_known(request: Request, house: House, name: str) -> None:
    """Have the browser keep, for when it signs in again, who signed in."""
    key = await house.credentials.key()
    proof = seals.sealed(key, KNOWN, {"name": folded(name)}, seconds=YEAR)
    secure = origin.is_secure(request, house.web)
    set_cookie(request.scope, KNOWN, proof, secure=secure, seconds=YEAR, path="/sign-in")


def form(
    request: Request,
    back: str,
    *,
    status: int = 200,
    name: str = "",
    problem: str = "",
    here: str = "",
    proof: str = "",
    headers: dict[str, str] | None = None,
) -> Response:
    """The page on which people sign in; ``here`` is who is signed in already."""
    web = request.app.state.house.web
    values: dict[str, Any] = {
        "back": back,
        "name": name,
        "problem": problem,
        "here": here,
        "proof": proof,
        "issuer": origin.host_of(web.issuer),
        "there": f"{THERE}?{urlencode({'next': back})}",
    }
    return page(request, None, "signin.html", status=status, headers=headers, **values)


def failed(request: Request, error: KokenError) -> Response:
    """The same page, saying why the issuer's answer let nobody in."""
    said = str(error)
    return form(request, "/", status=error.status, problem=f"{said[:1].upper()}{said[1:300]}.")


def remember(request: Request, house: House, errand: str) -> None:
    """Keep in the browser what the answer of the issuer must fit to; nothing: forget it."""
    secure = origin.is_secure(request, house.web)
    set_cookie(request.scope, ERRAND, errand, secure=secure, seconds=AWAY, path="/sign-in")
