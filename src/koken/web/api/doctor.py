"""The doctor's round, and how much history is older than it need be: facts of all workspaces."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from koken.engine.prune import prune
from koken.model.rights import Right
from koken.views import history
from koken.views.examination import examine
from koken.web.access.door import Reading
from koken.web.api.lists import listed, reply
from koken.web.api.models import Listed
from koken.web.api.strict import Strict
from koken.web.api.upkeepmodels import FindingShown, PrunableShown

router = APIRouter(tags=["upkeep"], route_class=Strict)


@router.get(
    "/doctor",
    summary="Look for what is wrong, and what to do about it",
    responses={200: {"model": Listed[FindingShown]}},
)
async def see_doctor(visit: Reading) -> Response:
    """As `koken doctor`, a line for each thing looked at. For who may look into every workspace."""
    visit.need_everywhere(Right.READ, "the doctor's findings")
    found = await examine(visit.views, visit.house.config)
    return listed(each.to_json() for each in found)


@router.get(
    "/prunable",
    summary="Say what a prune would take",
    responses={200: {"model": PrunableShown}},
)
async def see_prunable(visit: Reading) -> Response:
    """Nothing is deleted; of runs the oldest 100,000 are looked at."""
    visit.need_everywhere(Right.READ, "the rules of history")
    keep = visit.house.config.keep
    old = await history.old(visit.views, keep)
    found = await prune(visit.db, keep, dry_run=True)
    return reply(
        {"runs": found.runs, "more": found.cursor > 0, "ticks": old.ticks, "log_days": old.days}
    )
