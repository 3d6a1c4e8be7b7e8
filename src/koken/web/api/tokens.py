"""Tokens of a workspace, for those who administer it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from koken.engine import tokens
from koken.model.rights import Right
from koken.views import access
from koken.web.access.door import Administering
from koken.web.api import lists
from koken.web.api.accessmodels import TokenMade, TokenShown
from koken.web.api.answered import Once
from koken.web.api.asked import Reason, Reasoned
from koken.web.api.lists import Cursor, Limit, reply
from koken.web.api.models import Listed
from koken.web.api.strict import Strict
from koken.web.giving import lifetime, places

router = APIRouter(tags=["access"], route_class=Strict)
MANAGED = APIRouter(tags=["access"], route_class=Once)


class TokenAsked(Reasoned):
    """A token to be made."""

    name: str
    rights: list[Annotated[Right, Field(strict=False)]]
    workspace: str | None = Field(None, description="Default: this one; `*` is every workspace.")
    expires: str | float | None = Field(
        None, description="After so long: seconds, or 90d; null: when it is revoked."
    )


@MANAGED.get("/tokens", summary="List tokens", responses={200: {"model": Listed[TokenShown]}})
async def list_tokens(
    visit: Administering,
    revoked: Annotated[bool, Query(description="1: also those that were revoked.")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Those of this workspace; all of them, for who administers everything."""
    of = f"tokens {visit.workspace} {revoked}"
    gone, name, number = lists.read(of, cursor) or (False, "", 0)
    found = await access.tokens(
        visit.views,
        places(visit),
        revoked=revoked,
        after=(gone, name, number),
        limit=limit + 1,
    )
    return lists.page(of, found, limit, lambda row: [row.revoked_at is not None, row.name, row.id])


@router.post(
    "/tokens",
    summary="Make a token",
    status_code=201,
    responses={201: {"model": TokenMade, "description": "The token; it is told this once."}},
)
async def make_token(visit: Administering, body: TokenAsked) -> Response:
    """Nobody gives what they do not have; a token that expires makes none that outlives it.

    `Idempotency-Key` is not looked at: no token is kept. Where the answer was lost, the name is
    taken: revoke that token, and make another.
    """
    made = await tokens.make(
        visit.db,
        body.name,
        body.rights,
        workspace=visit.workspace if body.workspace is None else body.workspace,
        seconds=lifetime(body.expires),
        until=visit.gives_until,
        **visit.grant(body.reason),
    )
    return reply(made.to_json(), 201)


@MANAGED.delete("/tokens/{token}", summary="Revoke a token", status_code=204)
async def revoke_token(
    token: Annotated[
        str,
        Path(description="Its name or number; of several of a name, the one of this workspace."),
    ],
    visit: Administering,
    reason: Reason = "",
) -> Response:
    """It is refused within seconds."""
    await tokens.revoke(visit.db, token, workspace=visit.workspace, **visit.grant(reason))
    visit.house.credentials.forget()
    return Response(status_code=204)


router.include_router(MANAGED)
