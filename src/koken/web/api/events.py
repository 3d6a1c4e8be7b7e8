"""Events: who did what in a workspace, and why."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from koken.views import eventquery, events
from koken.web.access.door import Reading
from koken.web.api import lists
from koken.web.api.eventmodels import EventShown
from koken.web.api.lists import Cursor, Limit
from koken.web.api.models import Listed
from koken.web.api.strict import Strict
from koken.web.shown import event_json

router = APIRouter(tags=["events"], route_class=Strict)


@router.get(
    "/events",
    summary="List what people did, the newest first",
    responses={200: {"model": Listed[EventShown]}},
)
async def list_events(
    visit: Reading,
    q: Annotated[
        str,
        Query(
            max_length=1000,
            description="verb:cancel by:anna job:report run:412 since:2h; a bare word is looked "
            "for in the reason.",
        ),
    ] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """With what was done to jobs and queues that all workspaces share."""
    of = f"events {visit.workspace} {q}"
    before = lists.read(of, cursor)
    found = await events.of_workspace(
        visit.views,
        workspace=visit.workspace,
        limit=limit + 1,
        before=before,
        common=visit.hears_common,
        **eventquery.parse(q),
    )
    return lists.page(of, found, limit, lambda row: row.id, lambda row: event_json(visit, row))
