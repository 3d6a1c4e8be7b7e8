"""What waits for somebody, all over a workspace: open questions, signals that are awaited."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from koken.views import openquestions
from koken.web.access.door import Reading
from koken.web.api import lists
from koken.web.api.lists import Cursor, Limit
from koken.web.api.models import Listed
from koken.web.api.strict import Strict
from koken.web.api.waitingmodels import AskedShown, AwaitedShown

router = APIRouter(tags=["waiting"], route_class=Strict)


@router.get(
    "/questions", summary="List open questions", responses={200: {"model": Listed[AskedShown]}}
)
async def list_questions(visit: Reading, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Those of the oldest runs first; `POST runs/{run}/answers` answers one."""
    of = f"questions {visit.workspace}"
    run_id, key = lists.read(of, cursor) or (0, "")
    found = await openquestions.questions(
        visit.views, workspace=visit.workspace, limit=limit + 1, after=(run_id, key)
    )
    return lists.page(of, found, limit, lambda row: [row.run_id, row.key])


@router.get(
    "/signals",
    summary="List runs that wait for a signal",
    responses={200: {"model": Listed[AwaitedShown]}},
)
async def list_signals(visit: Reading, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """The oldest first; `POST runs/{run}/signals` sends one."""
    of = f"signals {visit.workspace}"
    found = await openquestions.signals(
        visit.views, workspace=visit.workspace, limit=limit + 1, after=lists.read(of, cursor) or 0
    )
    return lists.page(of, found, limit, lambda row: row.run_id)
