"""The page of events: who did what to what, and why."""

from __future__ import annotations

from datetime import tzinfo
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from koken.errors import InvalidArguments
from koken.views import eventquery, words
from koken.views import events as views
from koken.views.events import PlacedEvent
from koken.views.query import asking
from koken.web.access.door import Reading
from koken.web.console.forms import Asked
from koken.web.console.pages import page, zone_of
from koken.web.console.timetags import in_zone
from koken.web.shown import event_detail
from koken.web.visit import Visit

router = APIRouter()
PAGE = 100
VERBS = ("pause", "resume", "cancel", "retry", "skip", "resolve", "backfill", "queue", "unlock")
"""Those by which people look most often."""
LONGEST = 200
OF_SCHEDULE = ("schedule", "name")
"""What says which schedule something was done to: a link does."""


@router.get("/events")
async def events(request: Request, visit: Reading, q: Asked = "", before: str = "") -> HTMLResponse:
    """Those that match, the newest first."""
    problem, found = "", []
    end = int(before) if before.isascii() and before.isdecimal() and len(before) < 19 else None
    try:
        found = await views.of_workspace(
            visit.views,
            workspace=visit.workspace,
            limit=PAGE + 1,
            before=end,
            common=visit.hears_common,
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
        detail=lambda event: detail(visit, event, zone_of(request)),
        more=f"/events?{more}" if more else "",
        by=lambda word, value: f"/events?{urlencode({'q': asking(**{word: value})})}",
    )


def detail(visit: Visit, event: PlacedEvent, zone: tzinfo) -> str:
    """What else is known of it, in a line."""
    told = " ".join(
        f"{name}={words.rate(value) if name == 'rate' else words.brief(value)}"
        for name, value in in_zone(event_detail(visit, event), zone).items()
        if value is not None and not (name in OF_SCHEDULE and "schedule" in event.detail)
    )
    return told if len(told) <= LONGEST else f"{told[: LONGEST - 1]}…"
