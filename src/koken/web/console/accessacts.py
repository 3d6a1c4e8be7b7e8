"""What administrators do: let people and programs in, and out again."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse

from koken.engine import access, sessions, tokens
from koken.engine import hooks as hookacts
from koken.model.hooks import NewSecret
from koken.web.access.door import Administering
from koken.web.address import base_of
from koken.web.console.access import made
from koken.web.console.forms import reason, text
from koken.web.giving import lifetime
from koken.web.starting import body_of
from koken.web.visit import Visit

router = APIRouter()


@router.post("/access/users")
async def add_user(request: Request, visit: Administering) -> RedirectResponse:
    """Let somebody sign in with a password."""
    form = await request.form()
    name = text(form, "name").strip()
    hashed = await visit.house.credentials.hashed(text(form, "password"), name)
    await access.add_user(
        visit.db,
        name,
        hashed,
        role=text(form, "role"),
        workspace=text(form, "place"),
        **visit.grant(reason(form)),
    )
    return done(visit, "/access")


@router.post("/access/users/role")
async def change_role(request: Request, visit: Administering) -> RedirectResponse:
    """Give somebody a role in a workspace, or take it."""
    form = await request.form()
    name, role, place = (text(form, each) for each in ("name", "role", "place"))
    grant = visit.grant(reason(form))
    if role:
        await access.give_role(visit.db, name, role, workspace=place, **grant)
    else:
        await access.take_role(visit.db, name, workspace=place, **grant)
    return done(visit, "/access")


@router.post("/access/users/password")
async def set_password(request: Request, visit: Administering) -> RedirectResponse:
    """Give somebody another password."""
    form = await request.form()
    name = text(form, "name")
    hashed = await visit.house.credentials.hashed(text(form, "password"), name)
    await access.set_password(visit.db, name, hashed, **visit.grant(reason(form)))
    return done(visit, "/access")


@router.post("/access/users/disable")
async def disable(request: Request, visit: Administering) -> RedirectResponse:
    """Let somebody in no more."""
    form = await request.form()
    await access.disable(
        visit.db,
        text(form, "name"),
        **visit.grant(reason(form)),
    )
    return done(visit, "/access")


@router.post("/access/users/enable")
async def enable(request: Request, visit: Administering) -> RedirectResponse:
    """Let somebody in again."""
    form = await request.form()
    await access.enable(
        visit.db,
        text(form, "name"),
        **visit.grant(reason(form)),
    )
    return done(visit, "/access")


@router.post("/access/tokens")
async def make_token(request: Request, visit: Administering) -> HTMLResponse:
    """Make a token, and show it this once."""
    form = await request.form()
    new = await tokens.make(
        visit.db,
        text(form, "name").strip(),
        [str(each) for each in form.getlist("right")],
        workspace=text(form, "place"),
        seconds=lifetime(text(form, "expires") or None),
        until=visit.gives_until,
        **visit.grant(reason(form)),
    )
    use = [f"curl -H 'Authorization: Bearer {new.token}' {base_of(request)}/api/v1/runs"]
    return made(request, visit, "/tokens", what=f"Token {new.name}", secret=new.token, use=use)


@router.post("/access/tokens/revoke")
async def revoke(request: Request, visit: Administering) -> RedirectResponse:
    """End a token."""
    form = await request.form()
    await tokens.revoke(
        visit.db,
        text(form, "token"),
        **visit.grant(reason(form)),
    )
    return done(visit, "/access/tokens")


@router.post("/access/sessions/end")
async def end_session(request: Request, visit: Administering) -> RedirectResponse:
    """Sign somebody out in a browser."""
    form = await request.form()
    await sessions.end(
        visit.db,
        text(form, "user"),
        text(form, "session"),
        **visit.grant(reason(form)),
    )
    return done(visit, "/access/sessions")


@router.post("/access/hooks")
async def make_hook(request: Request, visit: Administering) -> HTMLResponse:
    """Make a hook, and show its secret this once."""
    form = await request.form()
    job = text(form, "job").strip()
    await body_of(visit, job)
    new = await hookacts.add(
        visit.db,
        text(form, "name").strip(),
        job,
        workspace=visit.workspace,
        scheme=text(form, "scheme"),
        argument=text(form, "argument").strip() or None,
        **visit.grant(reason(form)),
    )
    return made_hook(request, visit, new)


@router.post("/access/hooks/rotate")
async def rotate(request: Request, visit: Administering) -> HTMLResponse:
    """Give a hook a new secret, and show it this once."""
    form = await request.form()
    new = await hookacts.rotate(
        visit.db,
        text(form, "hook"),
        workspace=visit.workspace,
        **visit.grant(reason(form)),
    )
    return made_hook(request, visit, new)


@router.post("/access/hooks/remove")
async def remove(request: Request, visit: Administering) -> RedirectResponse:
    """Refuse calls to a hook from now on."""
    form = await request.form()
    await hookacts.remove(
        visit.db,
        text(form, "hook"),
        workspace=visit.workspace,
        **visit.deed(reason(form)),
    )
    return done(visit, "/access/hooks")


def made_hook(request: Request, visit: Visit, new: NewSecret) -> HTMLResponse:
    """The secret of a hook, and where it is called."""
    use = [f"POST {new.url(base_of(request))}"]
    return made(request, visit, "/hooks", what=f"Hook {new.name}", secret=new.secret, use=use)


def done(visit: Visit, where: str) -> RedirectResponse:
    """What was known of who may come in is asked for anew."""
    visit.house.credentials.forget()
    return RedirectResponse(where, 303)
