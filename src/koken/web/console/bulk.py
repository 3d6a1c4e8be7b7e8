"""What is done to many runs: what it would be about, how far it is, and how it is held or ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from koken.engine import bulk as engine
from koken.errors import InvalidArguments
from koken.model.bulk import Bulk, BulkVerb
from koken.model.duration import in_words
from koken.model.states import State
from koken.views import bulks, marks, runwords, words
from koken.views.bulks import FORESEEN
from koken.views.marks import Mark
from koken.views.query import LARGEST_ID
from koken.web.access.door import Operating, OperatingInSight, Reading
from koken.web.console import forms
from koken.web.console.once import Once
from koken.web.console.pages import page, runs_where
from koken.web.numbers import number_in_path
from koken.web.visit import Visit

router = APIRouter(route_class=Once)
PAGE = 50
REASONS = 10
"""Reasons that are told one by one."""
RATES = ("1/s", "5/s", "20/s", "100/s", "60/m", "600/h")
DONE = {
    "retry": "retried",
    "cancel": "cancelled",
    "skip": "skipped",
    "acknowledge": "acknowledged",
}
TOLD = {
    "retry": "Each goes on where it failed; what has succeeded stays. "
    "It stops by itself once ten of them have ended, and more than half of the last twenty that "
    "have failed again; fewer than ten are all retried.",
    "cancel": "Each ends for good, with all that is below it; what has begun is undone.",
    "skip": "The failed steps of each count as skipped, and the steps after them go on.",
    "acknowledge": "Nothing runs; the failures count as seen, and schedules that waited for that "
    "may go on.",
}
LOOKS = {
    "running": Mark("●", "running", "running"),
    "paused": marks.PAUSED,
    "stopped": Mark("⊘", "stopped", "cancelled"),
    "done": Mark("✓", "done", "succeeded"),
}
UNDER_WAY = Mark("●", "under way", "running")
"""Each had its turn, and some go still."""
IN_VAIN = Mark(State.FAILED.glyph, "failed again", "failed")
MOVES = {
    "running": (("pause", "Pause"), ("stop", "Stop")),
    "paused": (("resume", "Resume"), ("stop", "Stop")),
    "stopped": (("resume", "Resume"),),
    "done": (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """A bulk as a bar: parts of 100."""

    done: float
    again: float
    refused: float


def mark_of(each: Bulk) -> Mark:
    """How a bulk stands, with what has become of its runs since."""
    if each.state != "done":
        return LOOKS[each.state]
    if each.failed_again:
        return IN_VAIN
    return UNDER_WAY if each.going and each.verb != "acknowledge" else LOOKS["done"]


def shares(each: Bulk) -> Shares:
    """How far a bulk is."""
    whole = each.total or 1
    good = each.done - each.failed_again
    return Shares(
        done=round(100 * good / whole, 2),
        again=round(100 * each.failed_again / whole, 2),
        refused=round(100 * each.refused / whole, 2),
    )


@router.get("/bulks")
async def bulks_page(
    request: Request,
    visit: Reading,
    before: Annotated[int | None, Query(ge=0, le=LARGEST_ID)] = None,
) -> HTMLResponse:
    """The latest bulks."""
    found = await bulks.bulks(visit.views, workspace=visit.workspace, limit=PAGE + 1, before=before)
    older = f"/bulks?before={found[PAGE - 1].id}" if len(found) > PAGE else ""
    going = sum(each.state == "running" for each in found)
    return page(
        request,
        visit,
        "bulks.html",
        live="" if before else "workspace",
        bulks=found[:PAGE],
        going=going,
        older=older,
        mark_of=mark_of,
        done=DONE,
    )


@router.get("/bulks/preview")
async def preview_page(
    request: Request,
    visit: Reading,
    q: forms.Asked = "",
    verb: BulkVerb = "retry",
    rate: str = "5/s",
) -> HTMLResponse:
    """What a bulk would be about, and the form that begins it."""
    return await preview(request, visit, q, verb, rate)


async def preview(
    request: Request,
    visit: Visit,
    q: str,
    verb: BulkVerb,
    rate: str,
    *,
    reason: str = "",
    problem: str = "",
) -> HTMLResponse:
    """The page before a bulk; ``problem`` says why its form was not taken."""
    found = await bulks.preview(visit.views, visit.query(q), workspace=visit.workspace, verb=verb)
    seen = await engine.foresee(visit.db, verb, found.ids[:FORESEEN])
    return page(
        request,
        visit,
        "bulkpreview.html",
        status=422 if problem else 200,
        q=q,
        verb=verb,
        others=[
            (each, f"/bulks/preview?{urlencode({'verb': each, 'q': q})}")
            for each in get_args(BulkVerb)
        ],
        rate=rate,
        rates=RATES,
        reason=reason,
        problem=problem,
        found=found,
        back=f"/runs?{urlencode({'q': q})}",
        told=TOLD[verb],
        done=DONE[verb],
        refusals=seen.refusals.most_common(REASONS),
        refused=seen.refusals.total(),
        foreseen=seen.looked,
        marked=marks.of_run,
        stands=runwords.standing,
    )


@router.post("/bulks")
async def begin(
    request: Request,
    visit: OperatingInSight,
    verb: Annotated[BulkVerb, Form()],
    q: Annotated[str, Form(max_length=2000)],
    rate: Annotated[str, Form(max_length=20)] = "5/s",
) -> Response:
    """Begin a bulk."""
    form = await request.form()
    why = forms.text(form, "reason")
    try:
        made = await visit.client.made_bulk(verb, visit.query(q), rate, forms.reason(form) or "")
    except InvalidArguments as error:
        return await preview(request, visit, q, verb, rate, reason=why, problem=str(error))
    return RedirectResponse(f"/bulks/{made.id}", status_code=303)


@router.get("/bulks/{bulk}")
async def bulk_page(request: Request, visit: Reading, bulk: str) -> HTMLResponse:
    """How far a bulk is."""
    found = await visit.client.bulk(number_in_path("bulk", bulk))
    refusals = await bulks.refusals(visit.views, found.id) if found.refused else None
    ended = found.state == "done" and not found.going
    return page(
        request,
        visit,
        "bulk.html",
        live="" if ended else "workspace",
        bulk=found,
        shares=shares(found),
        mark=mark_of(found),
        moves=MOVES[found.state],
        done=DONE[found.verb],
        reasons=refusals.most_common(REASONS) if refusals else [],
        runs=f"/runs?{urlencode({'q': found.query})}",
        members=runs_where(bulk=str(found.id)),
        speed=words.rate(found.rate),
        remaining=in_words(max(found.left / found.rate, 1)) if found.left else "",
    )


@router.post("/bulks/{bulk}/{move}")
async def moved(
    request: Request, visit: Operating, bulk: str, move: Literal["pause", "resume", "stop"]
) -> Response:
    """Hold a bulk, let it go on, or end it."""
    verbs = {
        "pause": visit.client.pause_bulk,
        "resume": visit.client.resume_bulk,
        "stop": visit.client.stop_bulk,
    }
    found = await verbs[move](
        number_in_path("bulk", bulk), reason=forms.reason(await request.form()) or ""
    )
    return RedirectResponse(f"/bulks/{found.id}", status_code=303)
