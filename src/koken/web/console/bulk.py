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
from koken.views import bulks, marks, words
from koken.views.bulks import FORESEEN
from koken.views.marks import Mark
from koken.views.query import LARGEST_ID
from koken.web.access.door import Operating, Reading
from koken.web.console import forms
from koken.web.console.pages import page
from koken.web.numbers import number_of

router = APIRouter()
PAGE = 50
REASONS = 10
"""Reasons that are told one by one."""
RATES = ("1/s", "5/s", "20/s", "100/s", "60/m", "600/h")
DONE = {"retry": "retried", "cancel": "cancelled", "skip": "skipped"}
TOLD = {
    "retry": "Each goes on where it failed; what has succeeded stays. "
    "It stops by itself when what it retries fails again.",
    "cancel": "Each ends for good, with all that is below it; what has begun is undone.",
    "skip": "The failed steps of each count as skipped, and the steps after them go on.",
}
LOOKS = {
    "running": Mark("●", "running", "running"),
    "paused": Mark("‖", "paused", "retry"),
    "stopped": Mark("⊘", "stopped", "cancelled"),
    "done": Mark("✓", "done", "succeeded"),
}
MOVES = {
    "running": (("pause", "Pause"), ("stop", "Stop")),
    "paused": (("resume", "Go on"), ("stop", "Stop")),
    "stopped": (("resume", "Go on"),),
    "done": (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """A bulk as a bar: parts of 100."""

    done: float
    again: float
    refused: float


def shares(each: Bulk) -> Shares:
    """How far a bulk is."""
    whole = each.total or 1
    good = each.done - each.failed_again
    return Shares(
        done=round(100 * good / whole, 2),
        again=round(100 * each.failed_again / whole, 2),
        refused=round(100 * each.refused / whole, 2),
    )


def speed(rate: float) -> str:
    """Runs a second in the largest unit that makes them whole: ``2 a minute``."""
    for unit, size in (("second", 1), ("minute", 60)):
        if rate * size >= 1:
            return f"{rate * size:.3g} a {unit}"
    return f"{rate * 3600:.3g} an hour"


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
        looks=LOOKS,
        done=DONE,
    )


@router.get("/bulks/preview")
async def preview_page(
    request: Request, visit: Operating, q: str = "", verb: BulkVerb = "retry", rate: str = "5/s"
) -> HTMLResponse:
    """What a bulk would be about, and the form that begins it."""
    return await preview(request, visit, q, verb, rate)


async def preview(
    request: Request,
    visit: Operating,
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
        verbs=get_args(BulkVerb),
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
        stands=words.standing,
    )


@router.post("/bulks")
async def begin(
    request: Request,
    visit: Operating,
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
    found = await visit.client.bulk(number_of("bulk", bulk))
    refusals = await bulks.refusals(visit.views, found.id) if found.refused else None
    ended = found.state == "done"
    return page(
        request,
        visit,
        "bulk.html",
        live="" if ended else "workspace",
        bulk=found,
        shares=shares(found),
        mark=LOOKS[found.state],
        moves=MOVES[found.state],
        done=DONE[found.verb],
        reasons=refusals.most_common(REASONS) if refusals else [],
        runs=f"/runs?{urlencode({'q': found.query})}",
        speed=speed(found.rate),
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
        number_of("bulk", bulk), reason=forms.reason(await request.form()) or ""
    )
    return RedirectResponse(f"/bulks/{found.id}", status_code=303)
