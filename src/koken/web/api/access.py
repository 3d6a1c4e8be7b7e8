"""Users and tokens of a workspace, for those who administer it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from koken.engine import accesstokens
from koken.errors import InvalidArguments
from koken.model.duration import seconds
from koken.model.web import EVERYWHERE
from koken.views import access
from koken.web.access.door import Administering
from koken.web.access.principal import Right
from koken.web.api.accessmodels import TokenMade, TokensShown, UsersShown
from koken.web.api.answered import Once
from koken.web.api.asked import Reasoned
from koken.web.api.lists import answer
from koken.web.visit import Visit

router = APIRouter(tags=["access"])
MANAGED = APIRouter(tags=["access"], route_class=Once)


class TokenAsked(Reasoned):
    """A token to be made."""

    name: str
    scopes: list[Literal["read", "start", "operate", "administer"]]
    workspace: str | None = Field(None, description="Default: this one; `*` is every workspace.")
    expires: str | float | None = Field(
        None, description="After so long: seconds, or 90d; null: when it is revoked."
    )


@MANAGED.get("/users", summary="List users", responses={200: {"model": UsersShown}})
async def list_users(visit: Administering) -> Response:
    """Those who may do something in this workspace; all of them, for who administers everything."""
    found = await access.users(visit.views, places(visit))
    return answer({"items": [row.to_json() for row in found]})


@MANAGED.get("/tokens", summary="List tokens", responses={200: {"model": TokensShown}})
async def list_tokens(
    visit: Administering,
    revoked: Annotated[bool, Query(description="1: also those that were revoked.")] = False,
) -> Response:
    """Those of this workspace; all of them, for who administers everything."""
    found = await access.tokens(visit.views, places(visit), revoked=revoked)
    return answer({"items": [row.to_json() for row in found]})


@router.post(
    "/tokens",
    summary="Make a token",
    status_code=201,
    responses={201: {"model": TokenMade, "description": "The token; it is told this once."}},
)
async def make_token(visit: Administering, body: TokenAsked) -> Response:
    """Nobody gives what they do not have. `Idempotency-Key` is not looked at: no token is kept."""
    made = await accesstokens.make(
        visit.db,
        body.name,
        body.scopes,
        workspace=visit.workspace if body.workspace is None else body.workspace,
        seconds=lifetime(body.expires),
        holds=holds(visit),
        by=visit.principal.name,
        reason=body.reason or None,
    )
    return answer({"name": body.name, "token": made}, 201)


def lifetime(value: str | float | None) -> float | None:
    """For how many seconds a token is good. Raises ``InvalidArguments``."""
    if value is None:
        return None
    try:
        return seconds(value, name="expires")
    except (ValueError, OverflowError) as error:
        raise InvalidArguments(str(error), {"expires": str(error)}) from None


@MANAGED.delete("/tokens/{token}", summary="Revoke a token", status_code=204)
async def revoke_token(
    token: Annotated[str, Path(description="Its name or number.")], visit: Administering
) -> Response:
    """It is refused within seconds."""
    await accesstokens.revoke(
        visit.db, token, holds=holds(visit), by=visit.principal.name, reason=None
    )
    visit.house.credentials.forget()
    return Response(status_code=204)


def places(visit: Visit) -> list[str] | None:
    """The workspaces of which somebody is told; None: all."""
    if visit.principal.may(Right.ADMINISTER, EVERYWHERE):
        return None
    return [visit.workspace]


def holds(visit: Visit) -> Mapping[str, Any]:
    """What who asks may do themselves."""
    return visit.principal.rights


router.include_router(MANAGED)
