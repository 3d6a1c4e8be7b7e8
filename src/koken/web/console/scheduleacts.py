"""What people do with a schedule: pause, resume, run now, and make up for the past."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse

from koken.engine import backfill, schedules
from koken.engine.backfill import Order
from koken.errors import InvalidArguments, Refused
from koken.model import instants
from koken.model.firing import filled
from koken.views import backfills, oneschedule
from koken.views.oneschedule import OneSchedule
from koken.web.access.door import Operating, Reading, Starting
from koken.web.console import forms
from koken.web.console.once import Once
from koken.web.console.pages import page
from koken.web.console.schedules import number
from koken.web.starting import start
from koken.web.visit import Visit

router = APIRouter(route_class=Once)
SHOWN = 12
"""Due times of a plan that are listed one by one."""


@router.post("/schedules/{schedule_id:int}/pause")
async def pause(request: Request, visit: Operating, schedule_id: int) -> RedirectResponse:
    """Stop it."""
    facts = await going(visit, schedule_id)
    reason = forms.reason(await request.form())
    await schedules.pause(
        visit.db,
        facts.job,
        workspace=visit.workspace,
        **visit.deed(reason),
        schedule=facts.id,
    )
    return back(facts)


@router.post("/schedules/{schedule_id:int}/resume")
async def resume(request: Request, visit: Operating, schedule_id: int) -> RedirectResponse:
    """Let it fire again."""
    facts = await going(visit, schedule_id)
    reason = forms.reason(await request.form())
    await schedules.resume(
        visit.db,
        facts.job,
        workspace=visit.workspace,
        **visit.deed(reason),
        schedule=facts.id,
    )
    return back(facts)


@router.post("/schedules/{schedule_id:int}/run")
async def run_now(request: Request, visit: Starting, schedule_id: int) -> RedirectResponse:
    """Start a run with the schedule's arguments as they would be now."""
    facts = await going(visit, schedule_id)
    reason = forms.reason(await request.form())
    local = datetime.now(UTC).astimezone(ZoneInfo(facts.timezone))
    args = filled(facts.schedule.args, local, visit.workspace)
    run = await start(visit, facts.job, args, {})
    which = {"schedule": str(facts.id), "name": facts.name}
    await schedules.ran_now(visit.db, run.id, facts.job_id, which, **visit.deed(reason))
    return RedirectResponse(f"/runs/{run.id}", 303)


@router.get("/schedules/{schedule_id:int}/backfill")
async def plan(
    request: Request, visit: Reading, schedule_id: int, since: str, until: str, at_once: int = 1
) -> HTMLResponse:
    """What a backfill would do, before it does it."""
    facts = await going(visit, schedule_id)
    order = wanted(visit, facts, since, until, at_once)
    planned = await backfill.plan(visit.db, order, keep=visit.house.config.keep["ticks"])
    return page(
        request,
        visit,
        "backfill.html",
        facts=facts,
        plan=planned,
        sentence=backfills.sentence(planned),
        left=backfills.left(planned),
        listed=[backfills.clock(planned, due) for due in planned.due[:SHOWN]],
        others=max(len(planned.due) - SHOWN, 0),
    )


@router.post("/schedules/{schedule_id:int}/backfill")
async def carry_out(request: Request, visit: Operating, schedule_id: int) -> RedirectResponse:
    """Start the runs; on to the due times that have them now."""
    facts = await going(visit, schedule_id)
    form = await request.form()
    at_once = forms.text(form, "at_once") or "1"
    if not at_once.isascii() or not at_once.isdecimal():
        raise InvalidArguments(f"{at_once!r} runs at once; write a number such as 1")
    order = wanted(
        visit,
        facts,
        forms.text(form, "since"),
        forms.text(form, "until"),
        min(int(at_once[:9]), 2**31 - 1),
        reason=forms.reason(form),
    )
    await backfill.backfill(visit.db, order, keep=visit.house.config.keep["ticks"])
    query = urlencode({"before": order.until.isoformat()})
    return RedirectResponse(f"/schedules/{facts.id}?{query}", 303)


async def going(visit: Visit, schedule_id: int) -> OneSchedule:
    """The schedule. Raises ``NotFound``, and ``Refused`` for one that its job has no more."""
    facts = await oneschedule.one(visit.views, number(schedule_id), workspace=visit.workspace)
    if facts.retired_at is not None:
        raise Refused(
            f"{facts.job} has had no schedule {facts.name!r} since "
            f"{facts.retired_at:%Y-%m-%d %H:%M} UTC",
            what=f"schedule {facts.id}",
        )
    return facts


def wanted(
    visit: Visit,
    facts: OneSchedule,
    since: str,
    until: str,
    at_once: int,
    reason: str | None = None,
) -> Order:
    """A backfill as a form asks for it: times without a zone are on the schedule's own clock."""
    return Order(
        schedule_id=facts.id,
        workspace=visit.workspace,
        since=on_clock(since, facts.timezone),
        until=on_clock(until, facts.timezone),
        at_once=at_once,
        **visit.deed(reason),
    )


def on_clock(text: str, zone: str) -> datetime:
    """An instant from a form. Raises ``InvalidArguments``."""
    try:
        return instants.on_clock(text, ZoneInfo(zone)).astimezone(UTC)
    except ValueError as error:
        raise InvalidArguments(str(error)) from None


def back(facts: OneSchedule) -> RedirectResponse:
    """To the schedule's page."""
    return RedirectResponse(f"/schedules/{facts.id}", 303)
