"""Workspaces: those that exist for who asks."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from koken.views.workspaces import workspaces
from koken.web.access.door import Someone
from koken.web.access.principal import Right
from koken.web.api.floormodels import WorkspacesShown
from koken.web.api.lists import answer

router = APIRouter(tags=["workspaces"])


@router.get("/workspaces", summary="List workspaces", responses={200: {"model": WorkspacesShown}})
async def list_workspaces(visit: Someone) -> Response:
    """Those that who asks may look into, with how much goes on in each."""
    principal = visit.principal
    names = None
    if not principal.everywhere:
        names = [name for name in principal.rights if principal.may(Right.READ, name)]
    found = await workspaces(visit.views, names)
    return answer({"items": [row.to_json() for row in found]})
