"""Due times that have come, with their verdicts: of a workspace, a job or one schedule."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from koken.model.instants import with_offset
from koken.views import moments, ticks
from koken.views.jobfacts import job_facts
from koken.views.versions import HIGHEST
from koken.web.access.door import Reading
from koken.web.api import lists
from koken.web.api.jobmodels import TickShown
from koken.web.api.jobs import Name
from koken.web.api.lists import Cursor, Limit
from koken.web.api.models import Listed
from koken.web.api.schedules import Id, one
from koken.web.api.strict import Strict
from koken.web.visit import Visit

router = APIRouter(tags=["schedules"], route_class=Strict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which due times, and how many of them."""

    verdicts: tuple[str, ...]
    since: str
    before: str
    limit: int
    cursor: str | None


async def wanted(
    verdict: Annotated[
        str,
        Query(max_length=200, description=f"{', '.join(ticks.VERDICTS)}; several with commas."),
    ] = "",
    since: Annotated[
        str, Query(max_length=100, description="From it on: `2h` ago, or an instant.")
    ] = "",
    before: Annotated[
        str,
        Query(max_length=100, description="Only those before this instant, for who has no cursor."),
    ] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Wanted:
    """What is asked for of any list of due times."""
    return Wanted(tuple(filter(None, verdict.split(","))), since, before, limit, cursor)


Asked = Annotated[Wanted, Depends(wanted)]


@router.get(
    "/ticks",
    summary="List the due times of all schedules, the newest first",
    responses={200: {"model": Listed[TickShown]}},
)
async def list_ticks(
    visit: Reading,
    asked: Asked,
    job: Annotated[str, Query(max_length=200, description="Of this job only.")] = "",
    schedule: Annotated[
        int | None, Query(ge=1, le=HIGHEST, description="Of the schedule of this number only.")
    ] = None,
) -> Response:
    """Each with its verdict: started, or why not."""
    return await page_of_ticks(visit, asked, job=job or None, schedule=schedule)


@router.get(
    "/jobs/{job}/ticks",
    summary="List the due times of a job, the newest first",
    responses={200: {"model": Listed[TickShown]}},
)
async def ticks_of_job(job: Name, visit: Reading, asked: Asked) -> Response:
    """Of all its schedules, each with its verdict."""
    await job_facts(visit.views, job, workspace=visit.workspace)
    return await page_of_ticks(visit, asked, job=job)


@router.get(
    "/schedules/{schedule}/ticks",
    summary="List the due times of a schedule, the newest first",
    responses={200: {"model": Listed[TickShown]}},
)
async def ticks_of_schedule(schedule: Id, visit: Reading, asked: Asked) -> Response:
    """Each with its verdict."""
    return await page_of_ticks(visit, asked, schedule=(await one(visit, schedule)).id)


async def page_of_ticks(visit: Visit, asked: Wanted, **narrowed: Any) -> Response:
    """A page of those that are wanted."""
    of = f"ticks {visit.workspace} {narrowed} {asked.verdicts} {asked.since!r} {asked.before!r}"
    now = datetime.now(UTC)
    due, number = lists.read(of, asked.cursor) or (None, 0)
    found = await ticks.ticks(
        visit.views,
        workspace=visit.workspace,
        verdicts=asked.verdicts,
        since=moments.before(moments.moment("since", asked.since), now) if asked.since else None,
        before=with_offset(asked.before, "before") if asked.before else None,
        after=(None if due is None else datetime.fromisoformat(due), number),
        limit=asked.limit + 1,
        **narrowed,
    )
    return lists.page(of, found, asked.limit, lambda row: [row.due_at.isoformat(), row.schedule_id])
