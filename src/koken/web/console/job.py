"""The page of a job: when it runs and how it has gone, its rules, its versions, its ticks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import islice
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from koken.engine import schedules as told_schedules
from koken.model import zones
from koken.model.hiding import masked
from koken.model.instants import with_offset
from koken.model.plain import stamp
from koken.model.schedule import Schedule
from koken.model.steps import StepSpec
from koken.views import catalog, clocks, versions
from koken.views import ticks as due
from koken.views.agenda import verdict
from koken.views.catalog import ScheduleRow
from koken.views.durations import durations
from koken.views.graph import Graph, Node, graph_of_steps
from koken.views.jobfacts import JobFacts, declared, job_facts
from koken.views.pastdays import past_days
from koken.views.strips import strips
from koken.views.upcoming import dues
from koken.views.versions import Difference
from koken.web.access.door import Operating, Reading
from koken.web.console import forms, jobpictures, jobwords, runbook
from koken.web.console.jobwords import times
from koken.web.console.once import Once
from koken.web.console.pages import page, zone_of
from koken.web.console.rungraph import pictured
from koken.web.console.schedules import own_clock
from koken.web.console.timetags import Times
from koken.web.pictures import picture
from koken.web.specs import differences
from koken.web.visit import Visit

router = APIRouter(route_class=Once)
LATEST = 50
NEXT = 3
MOST_TICKS = 50
MOST_VERSIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A schedule with what is to be said of it."""

    row: ScheduleRow
    next: list[tuple[str, str, datetime]]
    """The next times: by its own zone's clock, by the reader's, and as instants."""
    args: Mapping[str, Any]
    catchup: str


async def facts_of(visit: Visit, name: str) -> JobFacts:
    """The job that a page is about. Raises ``NotFound``."""
    return await job_facts(visit.views, name, workspace=visit.workspace, owner=visit.principal.name)


@router.get("/jobs/{name}")
async def job(request: Request, visit: Reading, name: str) -> HTMLResponse:
    """How a job stands, in one page."""
    facts = await facts_of(visit, name)
    now, zone = datetime.now(UTC), zone_of(request)
    rows = await catalog.schedules(visit.views, workspace=visit.workspace, job=name)
    texts = await declared(visit.views, facts.id, workspace=visit.workspace)
    past = await strips(visit.views, [facts.id], workspace=visit.workspace, limit=LATEST)
    strip = past[facts.id]
    lengths = await durations(visit.views, facts.id, workspace=visit.workspace)
    days = await past_days(
        visit.views,
        facts.id,
        workspace=visit.workspace,
        zone=zone,
        today=now.astimezone(zone).date(),
    )
    sized = [each for each in lengths.runs if each.peak_bytes is not None]
    return page(
        request,
        visit,
        "job.html",
        live=f"workspace:{visit.workspace}",
        tab="",
        facts=facts,
        opening=jobwords.opening(facts, rows, strip[-20:], lengths.median, Times(now, zone)),
        schedules=[planned(row, texts.get(row.id), now, zone, visit, facts) for row in rows],
        paused=any(row.paused_at is not None for row in rows),
        after_pause=jobwords.after_pause([row for row in rows if row.paused_at is not None]),
        going=any(row.paused_at is None for row in rows),
        overlap=jobwords.overlap(facts.spec["overlap"], scheduled=bool(rows)),
        overlap_key=facts.spec["overlap_key"],
        rules=jobwords.rules(facts.spec),
        sections=runbook.sections(facts.spec["description"]),
        pieces=runbook.pieces,
        strip=jobpictures.tall_strip(strip, now) if strip else "",
        told=jobwords.told(strip),
        lengths=lengths,
        lengths_chart=jobpictures.lengths_chart(lengths, zone) if lengths.runs else "",
        memory_chart=jobpictures.memory_chart(lengths, zone) if sized else "",
        days=days,
        calendar=jobpictures.calendar(name, days),
        latest_days=[each for each in reversed(days) if each.total][:14],
        day_told=jobpictures.day_told,
        day_link=lambda day: jobpictures.day_link(name, day),
        steps=len(facts.spec["steps"]),
        graph=pictured(graph_of(facts), request.url.path, request.query_params, nowhere)
        if facts.spec["steps"]
        else None,
    )


def planned(
    row: ScheduleRow,
    schedule: Schedule | None,
    now: datetime,
    zone: tzinfo,
    visit: Visit,
    facts: JobFacts,
) -> Planned:
    """A schedule with its next times in two zones."""
    own = zones.named(row.timezone)
    args: Mapping[str, Any] = schedule.args if schedule else {}
    following: list[datetime] = []
    if schedule and not row.problem:
        following = [due.at for due in islice(dues(row.id, schedule, now), NEXT)]
    shape = f"%a %-d %b {clocks.clock_shape(*following)}"
    return Planned(
        row=row,
        next=[
            (f"{at.astimezone(own):{shape}}", f"{at.astimezone(zone):{shape}}", at)
            for at in following
        ],
        args=masked(args, visit.house.web.mask, facts.parameters),
        catchup=jobwords.catchup(row.catchup, schedule.catchup_limit if schedule else 0),
    )


def nowhere(_: Node) -> str:
    """Declared steps have no pages of their own."""
    return ""


@router.get("/jobs/{name}/graph.svg")
async def graph(visit: Reading, name: str) -> Response:
    """The declared steps as a file of their own, with its colours in it."""
    facts = await facts_of(visit, name)
    return picture(graph_of(facts))


def graph_of(facts: JobFacts) -> Graph:
    """The graph of the declared steps."""
    title = f"{facts.name}, version {facts.version}"
    steps = [StepSpec.from_json(plain) for plain in facts.spec["steps"]]
    return graph_of_steps(title, facts.name, steps, facts.spec["max_attempts"])


@router.get("/jobs/{name}/ticks")
async def ticks(request: Request, visit: Reading, name: str, before: str = "") -> HTMLResponse:
    """The due times of a job's schedules, and what came of each."""
    facts = await facts_of(visit, name)
    found = await due.ticks(
        visit.views,
        workspace=visit.workspace,
        job=name,
        limit=MOST_TICKS,
        before=with_offset(before, "before") if before else None,
    )
    following = stamp(found[-1].due_at) if len(found) >= MOST_TICKS else None
    return page(
        request,
        visit,
        "jobticks.html",
        tab="ticks",
        facts=facts,
        ticks=found,
        before=before,
        several=len({row.schedule for row in found}) > 1,
        own=own_clock,
        following=following,
        verdict=verdict,
        times=times,
    )


@router.get("/jobs/{name}/versions")
async def compare(
    request: Request, visit: Reading, name: str, old: int | None = None, new: int | None = None
) -> HTMLResponse:
    """The versions of a job, and what differs between two of them."""
    facts = await facts_of(visit, name)
    known = await versions.versions(
        visit.views, name, workspace=visit.workspace, limit=MOST_VERSIONS
    )
    numbers = [each.number for each in known]
    later = new if new is not None else facts.version
    earlier = old if old is not None else max((n for n in numbers if n < later), default=None)
    found: list[Difference] = []
    if earlier is not None:
        _, before = await versions.spec(
            visit.views, name, workspace=visit.workspace, number=earlier
        )
        _, after = await versions.spec(visit.views, name, workspace=visit.workspace, number=later)
        found = differences(before, after, visit.house.web.mask)
    return page(
        request,
        visit,
        "jobversions.html",
        tab="versions",
        facts=facts,
        versions=known,
        old=earlier,
        new=later,
        differences=found,
    )


@router.post("/jobs/{name}/pause")
async def pause(request: Request, visit: Operating, name: str) -> RedirectResponse:
    """Stop a job's schedules; what runs goes on."""
    facts = await facts_of(visit, name)
    reason = forms.reason(await request.form())
    await told_schedules.pause(
        visit.db, facts.name, workspace=visit.workspace, **visit.deed(reason)
    )
    return RedirectResponse(f"/jobs/{facts.name}", 303)


@router.post("/jobs/{name}/resume")
async def resume(request: Request, visit: Operating, name: str) -> RedirectResponse:
    """Let a job's schedules fire again."""
    facts = await facts_of(visit, name)
    reason = forms.reason(await request.form())
    await told_schedules.resume(
        visit.db, facts.name, workspace=visit.workspace, **visit.deed(reason)
    )
    return RedirectResponse(f"/jobs/{facts.name}", 303)
