"""Workspaces: those that exist for who asks."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from koken.model.rights import Right
from koken.views.workspaces import workspaces
from koken.web.access.door import Someone
from koken.web.api import lists
from koken.web.api.lists import Cursor, Limit
from koken.web.api.models import Listed
from koken.web.api.strict import Strict
from koken.web.api.workspacemodels import WorkspaceShown

router = APIRouter(tags=["workspaces"], route_class=Strict)


@router.get(
    "/workspaces", summary="List workspaces", responses={200: {"model": Listed[WorkspaceShown]}}
)
async def list_workspaces(visit: Someone, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Those that who asks may look into, with how much goes on in each."""
    after = lists.read("workspaces", cursor) or ""
    places = visit.principal.places(Right.READ)
    found = await workspaces(visit.views, places, after=after, limit=limit + 1)
    return lists.page("workspaces", found, limit, lambda row: row.name)
