"""Backfills: runs for due times of a schedule in the past that have had none."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import AwareDatetime, Field
from starlette.responses import Response

from koken.engine import backfill as engine
from koken.engine.backfill import Order
from koken.errors import InvalidArguments
from koken.model import zones
from koken.model.rights import Right
from koken.web.access.door import Operating
from koken.web.api.answered import Once
from koken.web.api.asked import DryRun, Reasoned
from koken.web.api.lists import reply
from koken.web.api.models import Brief, Shown
from koken.web.numbers import LARGEST_OF_FEW, number_in_path
from koken.web.shown import seen

router = APIRouter(tags=["schedules"], route_class=Once)


class BackfillAsked(Reasoned):
    """A stretch of time, and how fast."""

    since: AwareDatetime = Field(alias="from", strict=False, description="Due times from it on.")
    until: AwareDatetime = Field(alias="to", strict=False, description="And before it.")
    at_once: int = Field(
        1, ge=1, le=100, description="So many runs go together; for jobs with overlap `allow`."
    )


class KeptShown(Shown):
    """Due times that are left as they are."""

    why: str
    count: int


class BackfillShown(Shown):
    """What a backfill does, or would do."""

    job: str
    schedule: str = Field(description="The schedule's number.")
    name: str = Field(description="The schedule's name.")
    words: str = Field(description="When it is due.")
    timezone: str
    since: AwareDatetime = Field(alias="from")
    until: AwareDatetime = Field(alias="to")
    at_once: int
    runs: int = Field(description="For so many due times.")
    first: AwareDatetime | None
    last: AwareDatetime | None
    due: list[AwareDatetime]
    kept: list[KeptShown] = Field(description="Which due times are left as they are, and why.")
    notes: list[str] = Field(description="What to know before it goes.")
    started: list[str] | None = Field(None, description="The runs; not in a plan.")
    existed: list[AwareDatetime] | None = Field(
        None, description="Due times that somebody else gave a run meanwhile; not in a plan."
    )


@router.post(
    "/schedules/{schedule}/backfills",
    summary="Start runs for due times of the past that have had none",
    status_code=201,
    responses={
        200: {
            "model": BackfillShown | Brief,
            "description": "The plan, or nothing was to be started.",
        },
        201: {"model": BackfillShown | Brief, "description": "What was started."},
    },
)
async def backfill(
    schedule: Annotated[str, Path(description="The schedule's number.")],
    visit: Operating,
    body: BackfillAsked,
    dry_run: DryRun = False,
) -> Response:
    """A due time gets one run, however often one asks. At most 1,000 runs; one at a time.

    Where nothing was left to start the answer is `200`, and `started` is empty.
    """
    try:
        since, until = zones.within_years(body.since), zones.within_years(body.until)
    except (ValueError, OverflowError) as error:
        raise InvalidArguments(str(error), {"from": str(error)}) from None
    order = Order(
        schedule_id=number_in_path("schedule", schedule, LARGEST_OF_FEW),
        workspace=visit.workspace,
        since=since,
        until=until,
        at_once=body.at_once,
        **visit.deed(body.reason),
    )
    keep = visit.house.config.keep["ticks"]
    if dry_run:
        visit.need(Right.READ)
        return reply((await engine.plan(visit.db, order, keep=keep)).to_json())
    done = await engine.backfill(visit.db, order, keep=keep)
    plain = seen(visit, done.to_json(), "job", "schedule", "name", "started", "existed")
    return reply(plain, 201 if done.runs else 200)
