"""Events: who did what in a workspace, and why."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from koken.views import eventquery, events
from koken.views.events import PlacedEvent
from koken.web.access.door import Reading
from koken.web.api import lists
from koken.web.api.floormodels import EventShown
from koken.web.api.lists import Cursor, Limit, listed
from koken.web.api.models import Listed
from koken.web.masking import masked
from koken.web.visit import Visit

router = APIRouter(tags=["events"])


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
    limit = min(limit, events.MOST - 1)
    found = await events.of_workspace(
        visit.views,
        workspace=visit.workspace,
        limit=limit + 1,
        before=before,
        house=visit.principal.everywhere,
        **eventquery.parse(q),
    )
    rows, more = lists.cut(found, limit)
    after = lists.written(of, rows[-1].id) if more else None
    return listed((event_json(visit, row) for row in rows), after)


def event_json(visit: Visit, row: PlacedEvent) -> dict[str, Any]:
    """An event, without the secrets among arguments and answers."""
    plain = row.to_json()
    return {**plain, "detail": masked(plain["detail"], visit.house.web.mask)}
