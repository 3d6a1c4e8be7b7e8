"""The page with all jobs: found by a query, starred ones first, each with its latest outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse

from koken.engine.stars import star
from koken.errors import InvalidArguments
from koken.model.states import State
from koken.views import words
from koken.views.jobfacts import job_facts
from koken.views.joblines import Health, JobPage, job_page
from koken.views.query import having, says, without
from koken.views.strips import strips
from koken.web.access.door import Reading
from koken.web.console.forms import Asked, text
from koken.web.console.jobpictures import small_strip
from koken.web.console.jobwords import HEALTH, health
from koken.web.console.pages import page, zone_of
from koken.web.console.timetags import Times

router = APIRouter()
MOST_TAGS = 24
LOOKS: Mapping[Health, tuple[str, str]] = {
    Health.FAILING: ("failed", State.FAILED.glyph),
    Health.LATE: ("retry", "◷"),
    Health.OPEN: ("failed", State.FAILED.glyph),
    Health.PAUSED: ("retry", "‖"),
    Health.ACKNOWLEDGED: ("acknowledged", State.FAILED.glyph),
    Health.NEW: ("idle", "·"),
    Health.HEALTHY: ("succeeded", "✓"),
}
"""By health: the look and the glyph."""


@router.get("/jobs")
async def jobs(request: Request, visit: Reading, q: Asked = "", after: str = "") -> HTMLResponse:
    """All jobs that match."""
    problem = ""
    found = None
    try:
        found = await job_page(
            visit.views,
            q,
            workspace=visit.workspace,
            owner=visit.principal.name,
            after=after,
        )
        past = await strips(
            visit.views, [line.id for line in found.lines], workspace=visit.workspace
        )
        found = replace(found, lines=[replace(each, strip=past[each.id]) for each in found.lines])
    except InvalidArguments as error:
        problem = str(error)
    return page(
        request,
        visit,
        "jobs.html",
        status=422 if problem else 200,
        live=f"workspace:{visit.workspace}",
        q=q,
        after=after,
        problem=problem,
        found=found,
        sentence=sentence(found, q) if found else "",
        tags=list(found.tags.items())[:MOST_TAGS] if found else [],
        looks=LOOKS,
        told=HEALTH,
        health=lambda line: health(line, Times(datetime.now(UTC), zone_of(request))),
        strip=small_strip,
        link=lambda query, **rest: link(query, **rest),
        toggled=lambda word, value: toggled(q, word, value),
        chosen=lambda word, value: says(q, word, value),
    )


@router.post("/jobs/{name}/star")
async def starring(request: Request, visit: Reading, name: str) -> RedirectResponse:
    """Give a job a star, or take it away; back to where the button was."""
    form = await request.form()
    facts = await job_facts(visit.views, name, workspace=visit.workspace)
    await star(
        visit.db,
        facts.name,
        workspace=visit.workspace,
        owner=visit.principal.name,
        starred=text(form, "starred") == "1",
    )
    return RedirectResponse(back(text(form, "back"), f"/jobs/{facts.name}"), 303)


def back(wanted: str, otherwise: str) -> str:
    """An address among the pages of jobs, whatever a form says."""
    parts = urlsplit(wanted)
    inside = not (parts.scheme or parts.netloc) and (parts.path + "/").startswith("/jobs/")
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.path}{query}" if inside else otherwise


def link(query: str, **rest: str) -> str:
    """The address of the list for a query."""
    values = {name: value for name, value in {"q": query, **rest}.items() if value}
    return f"/jobs?{urlencode(values)}" if values else "/jobs"


def toggled(query: str, word: str, value: str) -> str:
    """A query with a word in it, or without it where it has it; a job has one state."""
    if says(query, word, value):
        return without(query, word, value)
    return having(without(query, word) if word == "state" else query, word, value)


def sentence(found: JobPage, query: str) -> str:
    """The line with which the page begins."""
    if not found.known:
        return "No jobs yet."
    if not found.total:
        return "No job matches."
    told = [
        f"{found.health[each]:,} {word}"
        for each, word in (
            (Health.FAILING, "failing"),
            (Health.LATE, "late"),
            (Health.OPEN, "with open failures"),
            (Health.PAUSED, "paused"),
        )
        if found.health.get(each)
    ]
    number = words.counted(found.total, "job")
    if told:
        return f"{number}{' found' if query else ''}: {', '.join(told)}."
    return f"{number}{' found' if query else ''}; none of them fails, is late or paused."
