"""What a route asks for: a visit with a right. Who asks is found out here, once a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import quote, unquote

from fastapi import Depends, HTTPException, Request

from koken.errors import Forbidden, NotFound, NotSignedIn
from koken.model.credentials import TOKEN
from koken.model.rights import EVERYWHERE, Right
from koken.web.access import origin, seals
from koken.web.access.porch import set_cookie
from koken.web.access.principal import Kind, Principal, rights_of
from koken.web.address import base_of
from koken.web.house import House
from koken.web.visit import Visit

SESSION = "koken_session"
WORKSPACE = "koken_workspace"
"""The cookie with the workspace in which a browser looks around."""
SAFE = ("GET", "HEAD", "OPTIONS")
YEAR = 365 * 86400
KEPT = "koken.visit"
SENT_BY_NO_FORM = re.compile(r"application/([a-z0-9!#$&^_.-]+\+)?json")
"""JSON: a browser asks us before a page of another site may send that, and we do not agree."""


async def visit(request: Request) -> Visit:
    """The visit of a request. Raises ``NotSignedIn``, ``Forbidden``, ``NotFound``."""
    kept: Visit | None = request.scope.get(KEPT)
    if kept is not None:
        return kept
    house: House = request.app.state.house
    seals.SIGNED_WITH.set(await house.credentials.key())
    found = await visit_of(request, house, *await known(request, house))
    request.scope[KEPT] = found
    return found


async def onlooker(request: Request) -> Visit:
    """The visit of a request that changes nothing any more, as for the page of an error.

    What was sent is not read, and need not be a form of ours. Raises as ``visit`` does.
    """
    kept: Visit | None = request.scope.get(KEPT)
    if kept is not None:
        return kept
    house: House = request.app.state.house
    principal = await who(request, house)
    return await visit_of(request, house, principal, await proof_of(house, principal))


async def visit_of(request: Request, house: House, principal: Principal, proof: str) -> Visit:
    """The visit of somebody, in the workspace that it is about."""
    place = await workspace_of(request, house, principal)
    base = base_of(request)
    return Visit(house=house, principal=principal, workspace=place, csrf=proof, base=base)


async def known(request: Request, house: House) -> tuple[Principal, str]:
    """Who asks, wherever they may do something, and what their forms bring back.

    Raises ``NotSignedIn``, and ``Forbidden`` for a change that is not theirs.
    """
    principal = await who(request, house)
    proof = await proof_of(house, principal)
    if principal.kind is not Kind.TOKEN and request.method not in SAFE:
        await refuse_forged(request, house, proof)
    return principal, proof


async def proof_of(house: House, principal: Principal) -> str:
    """What somebody's forms bring back; nothing for programs, which send none."""
    if principal.kind is Kind.TOKEN:
        return ""
    return seals.csrf(await house.credentials.key(), principal)


async def who(request: Request, house: House) -> Principal:
    """Who asks: by token, session, proxy, or on this machine. Raises ``NotSignedIn``."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        found = await house.credentials.token(token) if token.startswith(TOKEN) else None
        if found is None:
            raise NotSignedIn(
                "this token is not known here, or is good no more; `koken token add` makes one"
            )
        return found
    cookie = request.cookies.get(SESSION)
    if cookie and (signed_in := await house.credentials.session(cookie)):
        return signed_in
    if vouched := by_proxy(request, house):
        return vouched
    local = house.loopback and not house.web.vouched and origin.is_local(request)
    if local and await house.credentials.nobody():
        return Principal(name=house.local, kind=Kind.LOCAL, rights={EVERYWHERE: frozenset(Right)})
    raise NotSignedIn("sign in, or send a token: Authorization: Bearer koken_…")


def by_proxy(request: Request, house: House) -> Principal | None:
    """Whom a proxy that we trust says it is; nobody where that is said twice, once by a visitor."""
    web = house.web
    if not web.proxy_header or not origin.in_networks(origin.peer_of(request), web.proxy_trusted):
        return None
    names = [name.strip() for name in request.headers.getlist(web.proxy_header)]
    if len(names) != 1 or not names[0]:
        return None
    return Principal(name=names[0], kind=Kind.PROXY, rights=rights_of(web.roles_for(names)))


async def refuse_forged(request: Request, house: House, proof: str) -> None:
    """Refuse a change that a page of somebody else's may have sent in this person's name.

    A browser adds their cookie to whatever a page sends here. So a form brings back what only our
    pages know; the API also takes JSON, which no foreign page can send. Raises ``Forbidden``, and
    an ``HTTPException`` for what is no JSON.
    """
    if not origin.is_ours(request, house.web):
        raise Forbidden("this was sent by a page of another site; nothing was done")
    given = request.headers.get("koken-csrf")
    if given is None and is_api(request):
        media = request.headers.get("content-type", "application/json").partition(";")[0]
        if not SENT_BY_NO_FORM.fullmatch(media.strip().lower()):
            raise HTTPException(
                415, "send JSON with Content-Type: application/json, or a token; nothing was done"
            )
        return
    if not seals.same(given if given is not None else await from_form(request), proof):
        raise Forbidden(
            "this form is from an earlier visit, or from elsewhere; nothing was done. "
            "Load the page anew and send it again"
        )


async def from_form(request: Request) -> str:
    """What a form brought back. The route can read the body again, as a form or as it came."""
    with suppress(RuntimeError):  # the framework has read it as a form already, and kept that
        await request.body()
    found = (await request.form(max_files=0)).get("csrf")
    return found if isinstance(found, str) else ""


async def workspace_of(request: Request, house: House, principal: Principal) -> str:
    """The workspace that a request is about: as it says, else where its sender usually is.

    Raises ``NotFound`` for one that is not there for who asks, and ``Forbidden`` for somebody to
    whom none is.
    """
    named = (
        request.headers.get("koken-workspace")
        if is_api(request)
        else request.query_params.get("workspace")
    )
    usual = house.config.workspace
    if named:
        there = principal.sees(named) and named != EVERYWHERE
        if not there or not (named == usual or await house.credentials.is_workspace(named)):
            raise NotFound(f"there is no workspace {named!r} here")
        if not is_api(request):
            secure = origin.is_secure(request, house.web)
            set_cookie(request.scope, WORKSPACE, quote(named), secure=secure, seconds=YEAR)
        return named
    if not is_api(request):
        kept = unquote(request.cookies.get(WORKSPACE, ""))
        known = kept not in ("", EVERYWHERE) and principal.sees(kept)
        if known and await house.credentials.is_workspace(kept):
            return kept
    if principal.sees(usual):
        return usual
    if not principal.rights:
        raise Forbidden(
            f"{principal.name} has no role here yet; somebody who administers Koken gives one: "
            f"koken user role {principal.name} operator"
        )
    return min(principal.rights)


def is_api(request: Request) -> bool:
    """Whether a program asks, not a browser for a page."""
    return bool(request.app.state.is_api)


def having(*rights: Right) -> Callable[[Request], Coroutine[Any, Any, Visit]]:
    """A dependency that gives a visit with these rights."""

    async def allowed(request: Request) -> Visit:
        found = await visit(request)
        for right in rights:
            found.need(right)
        return found

    return allowed


Someone = Annotated[Visit, Depends(visit)]
"""Whoever it is; what they may do is looked at later, as by ``Visit.run``."""
Reading = Annotated[Visit, Depends(having(Right.READ))]
Starting = Annotated[Visit, Depends(having(Right.START))]
StartingInSight = Annotated[Visit, Depends(having(Right.READ, Right.START))]
"""Who starts something from a page that shows what there is."""
Operating = Annotated[Visit, Depends(having(Right.OPERATE))]
OperatingInSight = Annotated[Visit, Depends(having(Right.READ, Right.OPERATE))]
"""Who acts from a page that shows what there is."""
Administering = Annotated[Visit, Depends(having(Right.ADMINISTER))]
