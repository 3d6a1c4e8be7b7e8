"""The page of events: who did what to what, and why."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from koken.errors import InvalidArguments
from koken.views import eventquery, words
from koken.views import events as views
from koken.views.events import PlacedEvent
from koken.web.access.door import Reading
from koken.web.console.pages import page
from koken.web.shown import event_detail
from koken.web.visit import Visit

router = APIRouter()
PAGE = 100
VERBS = ("pause", "resume", "cancel", "retry", "skip", "resolve", "backfill", "queue", "unlock")
"""Those by which people look most often."""
LONGEST = 200


@router.get("/events")
async def events(request: Request, visit: Reading, q: str = "", before: str = "") -> HTMLResponse:
    """Those that match, the newest first."""
    problem, found = "", []
    end = int(before) if before.isascii() and before.isdecimal() and len(before) < 19 else None
    try:
        found = await views.of_workspace(
            visit.views,
            workspace=visit.workspace,
            limit=PAGE + 1,
            before=end,
            house=visit.hears_house,
            **eventquery.parse(q),
        )
    except InvalidArguments as error:
        problem = str(error)
    shown = found[:PAGE]
    more = urlencode({"q": q, "before": shown[-1].id}) if len(found) > PAGE else ""
    return page(
        request,
        visit,
        "events.html",
        status=422 if problem else 200,
        live=f"workspace:{visit.workspace}",
        found=shown,
        q=q,
        before=before,
        problem=problem,
        verbs=VERBS,
        detail=lambda event: detail(visit, event),
        more=f"/events?{more}" if more else "",
        by=lambda word, value: f"/events?{urlencode({'q': f'{word}:{quoted(value)}'})}",
    )


def quoted(value: str) -> str:
    """A value as the query takes it."""
    return f'"{value}"' if " " in value else value


def detail(visit: Visit, event: PlacedEvent) -> str:
    """What else is known of it, in a line."""
    told = " ".join(
        f"{name}={words.brief(value)}"
        for name, value in event_detail(visit, event).items()
        if value is not None
    )
    return told if len(told) <= LONGEST else f"{told[: LONGEST - 1]}…"
