"""The doctor's round, and how much history is older than it need be: facts of the whole house."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from koken.engine.prune import prune
from koken.views import history
from koken.views.examination import examine
from koken.web.access.door import Reading
from koken.web.access.principal import Right
from koken.web.api.floormodels import FindingsShown, PrunableShown
from koken.web.api.lists import answer
from koken.web.api.wide import need_everywhere

router = APIRouter(tags=["upkeep"])


@router.get(
    "/doctor",
    summary="Look for what is wrong, and what to do about it",
    responses={200: {"model": FindingsShown}},
)
async def see_doctor(visit: Reading) -> Response:
    """As `koken doctor`. For those who may look into every workspace."""
    need_everywhere(visit, Right.READ, "the doctor's findings")
    found = await examine(visit.views, visit.house.config)
    return answer({"items": [each.to_json() for each in found]})


@router.get(
    "/prunable",
    summary="Say what a prune would take",
    responses={200: {"model": PrunableShown}},
)
async def see_prunable(visit: Reading) -> Response:
    """Nothing is deleted; of runs the oldest 100,000 are looked at."""
    need_everywhere(visit, Right.READ, "the rules of history")
    keep = visit.house.config.keep
    old = await history.old(visit.views, keep)
    found = await prune(visit.db, keep, dry_run=True)
    return answer(
        {"runs": found.runs, "more": found.cursor > 0, "ticks": old.ticks, "log_days": old.days}
    )
