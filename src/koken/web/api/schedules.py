"""Schedules: when jobs run, what came of it, and when any expression is due."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from koken.errors import DeclarationError, InvalidArguments, NotFound
from koken.model.instants import with_offset
from koken.model.upcoming import times, understood
from koken.views import catalog
from koken.views.catalog import ScheduleRow
from koken.views.upcoming import upcoming
from koken.web.access.door import Operating, Reading
from koken.web.api import lists
from koken.web.api.answered import Once
from koken.web.api.asked import Reasoned
from koken.web.api.jobmodels import (
    DueShown,
    NextShown,
    ScheduleShown,
    SwitchedShown,
)
from koken.web.api.jobs import Some, switch_schedules
from koken.web.api.lists import Cursor, Limit, listed, reply
from koken.web.api.models import Listed
from koken.web.numbers import LARGEST_OF_FEW, number_in_path
from koken.web.visit import Visit

router = APIRouter(tags=["schedules"], route_class=Once)
Id = Annotated[str, Path(description="The schedule's number.")]


@router.get(
    "/schedules", summary="List schedules by job", responses={200: {"model": Listed[ScheduleShown]}}
)
async def list_schedules(
    visit: Reading,
    q: Annotated[
        str, Query(max_length=200, description="Of jobs only that are called so, or in part.")
    ] = "",
    job: Annotated[str, Query(max_length=200, description="Of this job only.")] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """With what came of the last time."""
    of = f"schedules {visit.workspace} {q!r} {job!r}"
    last, name, number = lists.read(of, cursor) or (None, "", 0)
    found = await catalog.schedules(
        visit.views,
        workspace=visit.workspace,
        job=job or None,
        part=q,
        after=(last, name, number),
        limit=limit + 1,
    )
    return lists.page(of, found, limit, lambda row: [row.job, row.name, row.id])


@router.get(
    "/schedules/{schedule}",
    summary="Look at a schedule",
    responses={200: {"model": ScheduleShown}},
)
async def get_schedule(schedule: Id, visit: Reading) -> Response:
    """By its number."""
    return reply((await one(visit, schedule)).to_json())


@router.get(
    "/schedules/{schedule}/next",
    summary="Say when a schedule is due next",
    responses={200: {"model": Listed[DueShown]}},
)
async def next_of_schedule(schedule: Id, visit: Reading, n: Some = 5) -> Response:
    """The first `n`, and no further page; nothing while it is paused."""
    row = await one(visit, schedule)
    found = await upcoming(
        visit.views,
        row.job,
        workspace=visit.workspace,
        after=datetime.now(UTC),
        number=n,
        schedule=row.id,
    )
    return listed(each.to_json() for each in found)


@router.post(
    "/schedules/{schedule}/pauses",
    summary="Stop a schedule",
    responses={200: {"model": SwitchedShown}},
)
async def pause_schedule(schedule: Id, visit: Operating, body: Reasoned | None = None) -> Response:
    """The job's other schedules go on."""
    row = await one(visit, schedule)
    return await switch_schedules(visit, row.job, body, paused=True, schedule=row.id)


@router.post(
    "/schedules/{schedule}/resumptions",
    summary="Let a schedule fire again",
    responses={200: {"model": SwitchedShown}},
)
async def resume_schedule(schedule: Id, visit: Operating, body: Reasoned | None = None) -> Response:
    """What fell due meanwhile is recorded as skipped, unless `catchup` makes up for it."""
    row = await one(visit, schedule)
    return await switch_schedules(visit, row.job, body, paused=False, schedule=row.id)


async def one(visit: Visit, named: str) -> ScheduleRow:
    """The schedule of that number in this workspace. Raises ``NotFound``."""
    number = number_in_path("schedule", named, LARGEST_OF_FEW)
    found = await catalog.schedules(visit.views, workspace=visit.workspace, number=number)
    if not found:
        raise NotFound(f"there is no schedule {named} in workspace {visit.workspace!r}")
    return found[0]


@router.get("/next", summary="Say when an expression is due", responses={200: {"model": NextShown}})
async def next_of_expression(
    visit: Reading,
    expression: Annotated[
        str,
        Query(max_length=1000, description="Cron, English, an interval, or EventBridge's forms."),
    ],
    timezone: Annotated[str, Query(max_length=100, description="An IANA name; default: UTC.")] = "",
    after: Annotated[
        str, Query(max_length=100, description="Times after this instant; default: now.")
    ] = "",
    n: Some = 5,
) -> Response:
    """In plain English, and the first times."""
    try:
        found = understood(expression, timezone)
        due = times(found, with_offset(after, "after") if after else datetime.now(UTC), n)
    except DeclarationError as error:
        raise InvalidArguments(str(error), {"expression": str(error)}) from None
    return reply(
        {
            "words": found.in_words(),
            "timezone": found.timezone,
            "items": [each.isoformat() for each in due],
        }
    )
