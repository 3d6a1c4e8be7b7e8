"""Users: who may sign in with a password, and what they may do where."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field, SecretStr
from starlette.responses import Response

from koken.engine import access, sessions
from koken.model.rights import Role
from koken.views import access as views
from koken.web.access.door import Administering
from koken.web.api import lists
from koken.web.api.accessmodels import UserChanged, UserShown
from koken.web.api.answered import Once
from koken.web.api.asked import Reason, Reasoned
from koken.web.api.lists import Cursor, Limit, reply
from koken.web.api.models import Listed
from koken.web.api.strict import Strict
from koken.web.giving import places
from koken.web.visit import Visit

router = APIRouter(tags=["access"], route_class=Strict)
MANAGED = APIRouter(tags=["access"], route_class=Once)
Name = Annotated[str, Path(description="As they sign in.")]
CHANGED: dict[int | str, dict[str, Any]] = {200: {"model": UserChanged}}
WORKSPACE = "Default: this one; `*` is every workspace."


class PasswordAsked(Reasoned):
    """Another password."""

    password: SecretStr = Field(description="10 to 1,000 characters; kept as a hash.")


class UserAsked(PasswordAsked):
    """A user to be added."""

    name: str
    role: Annotated[Role, Field(strict=False)] | None = None
    workspace: str | None = Field(None, description=WORKSPACE)


class RoleAsked(Reasoned):
    """A role to be given."""

    role: Annotated[Role, Field(strict=False)]
    workspace: str | None = Field(None, description=WORKSPACE)


@MANAGED.get("/users", summary="List users", responses={200: {"model": Listed[UserShown]}})
async def list_users(visit: Administering, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Those who may do something in this workspace; all of them, for who administers everything."""
    of = f"users {visit.workspace}"
    after = lists.read(of, cursor) or ""
    found = await views.users(visit.views, places(visit), after=after, limit=limit + 1)
    return lists.page(of, found, limit, lambda row: row.name)


@router.post(
    "/users",
    summary="Let somebody sign in with a password",
    status_code=201,
    responses={201: {"model": UserChanged}},
)
async def add_user(visit: Administering, body: UserAsked) -> Response:
    """Nobody gives what they do not have; who administers everywhere adds somebody without a role.

    `Idempotency-Key` is not looked at: nothing that is told of a password is kept. Where the
    answer was lost, sending it again says that the name is taken.
    """
    place = visit.workspace if body.workspace is None else body.workspace
    added = await access.add_user(
        visit.db,
        body.name,
        await hashed(visit, body, body.name),
        role=body.role or "",
        workspace=place,
        **visit.grant(body.reason),
    )
    return changed(visit, added.to_json(), 201)


@router.post(
    "/users/{user:path}/passwords", summary="Give somebody another password", responses=CHANGED
)
async def set_password(user: Name, visit: Administering, body: PasswordAsked) -> Response:
    """Where they are signed in, that ends. Sent again it does the same; no key is looked at."""
    password = await hashed(visit, body, user)
    await access.set_password(visit.db, user, password, **visit.grant(body.reason))
    return changed(visit, {"user": user})


@MANAGED.post("/users/{user:path}/roles", summary="Give somebody a role", responses=CHANGED)
async def give_role(user: Name, visit: Administering, body: RoleAsked) -> Response:
    """In place of the one that they have there."""
    place = visit.workspace if body.workspace is None else body.workspace
    given = await access.give_role(
        visit.db, user, body.role, workspace=place, **visit.grant(body.reason)
    )
    return changed(visit, given.to_json())


@MANAGED.delete("/users/{user:path}/roles", summary="Take somebody's role", status_code=204)
async def take_role(
    user: Name,
    visit: Administering,
    workspace: Annotated[str | None, Query(description=WORKSPACE)] = None,
    reason: Reason = "",
) -> Response:
    """The one that they have there."""
    place = visit.workspace if workspace is None else workspace
    await access.take_role(visit.db, user, workspace=place, **visit.grant(reason))
    visit.house.credentials.forget()
    return Response(status_code=204)


@MANAGED.post(
    "/users/{user:path}/disablements", summary="Let somebody in no more", responses=CHANGED
)
async def disable_user(user: Name, visit: Administering, body: Reasoned | None = None) -> Response:
    """Where they are signed in, that ends at once. Tokens that they made go on."""
    await access.disable(visit.db, user, **visit.grant(body.reason if body else ""))
    return changed(visit, {"user": user, "disabled": True})


@MANAGED.post("/users/{user:path}/enablements", summary="Let somebody in again", responses=CHANGED)
async def enable_user(user: Name, visit: Administering, body: Reasoned | None = None) -> Response:
    """With the roles that they had."""
    await access.enable(visit.db, user, **visit.grant(body.reason if body else ""))
    return changed(visit, {"user": user, "disabled": False})


@MANAGED.post(
    "/users/{user:path}/sign-outs", summary="End all sessions of somebody", responses=CHANGED
)
async def sign_out(user: Name, visit: Administering, body: Reasoned | None = None) -> Response:
    """They may sign in anew."""
    ended = await sessions.end(visit.db, user, **visit.grant(body.reason if body else ""))
    return changed(visit, ended.to_json())


async def hashed(visit: Visit, body: PasswordAsked, name: str) -> str:
    """The password as it is kept. Raises ``InvalidArguments``."""
    return await visit.house.credentials.hashed(body.password.get_secret_value(), name)


def changed(visit: Visit, plain: dict[str, Any], status: int = 200) -> Response:
    """The answer to a change; what was known of who may come in is asked for anew."""
    visit.house.credentials.forget()
    return reply(plain, status)


router.include_router(MANAGED)
