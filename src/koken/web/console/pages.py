"""How pages are made: templates, their filters, and what every page has around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse

from koken.model.rights import Right
from koken.views import clocks, marks, runwords, words
from koken.views.query import asking
from koken.views.standings import Standing
from koken.web.console.live import SEEN
from koken.web.console.once import fresh
from koken.web.console.timetags import Times, clock, exact, length
from koken.web.visit import Visit

TEMPLATES = Path(__file__).parent / "templates"
ZONE = "koken_zone"
"""The cookie with the zone in which somebody wants to see times; a script puts their own there."""


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the rail."""

    name: str
    path: str
    key: str
    """``g`` and this key lead there."""
    right: Right = Right.READ


RAIL = (
    Place("Overview", "/", "o"),
    Place("Jobs", "/jobs", "j"),
    Place("Runs", "/runs", "r"),
    Place("Schedules", "/schedules", "s"),
    Place("Queues", "/queues", "q"),
    Place("Workers", "/workers", "w"),
    Place("Locks", "/locks", "l"),
    Place("Events", "/events", "e"),
    Place("Workspaces", "/workspaces", "p"),
    Place("Access", "/access", "a", Right.ADMINISTER),
)


def zone_of(request: Request) -> tzinfo:
    """The zone in which a page tells times; UTC where the browser names none that there is."""
    try:
        return ZoneInfo(request.cookies.get(ZONE, "UTC"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def zone_form(request: Request, at: str) -> str:
    """Where the zone is chosen, and the way back from there; ``at`` as for a page."""
    asked = request.url
    back = f"{asked.path}?{asked.query}" if asked.query else asked.path
    return f"/zone?{urlencode({'back': back if request.method == 'GET' else at})}"


def shape_of(*instants: datetime) -> str:
    """How due times are written together: with seconds where they matter."""
    return f"%a %Y-%m-%d {clocks.clock_shape(*instants)}"


def hour_of(instant: datetime, zone: tzinfo) -> datetime:
    """When the hour began in which an instant is, by a clock in ``zone``.

    An instant and not a time of day: where clocks are set back two hours are called the same.
    """
    local = instant.astimezone(zone)
    into = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
    return instant.astimezone(UTC) - into


def runs_where(**asked: str | Sequence[str]) -> str:
    """The address of the runs that a query finds: a value for each word, or alternatives."""
    return f"/runs?{urlencode({'q': asking(**asked)})}"


environment = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=select_autoescape(default=True, default_for_string=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    enable_async=False,
)
environment.filters |= {
    "length": length,
    "capped": words.capped,
    "counted": words.counted,
    "dump": words.dump,
    "plain": words.plain,
    "size": words.size,
}
environment.globals |= {
    "words": words,
    "clocks": clocks,
    "runwords": runwords,
    "RAIL": RAIL,
    "Right": Right,
    "marks": marks,
    "mark_of": lambda word: marks.of(Standing(word)),
    "shape_of": shape_of,
    "asking": asking,
    "fresh": fresh,
    "runs_where": runs_where,
}


def page(
    request: Request,
    visit: Visit | None,
    template: str,
    *,
    live: str = "",
    at: str = "/",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> HTMLResponse:
    """A page. ``live`` is the topic whose change refreshes it, as ``/live`` takes it.

    ``at`` is the address of a page that answers a form, where it can be had again. Templates have
    ``request``, ``visit``, ``now``, ``zone``, and the functions ``ago(instant)``,
    ``due(instant, verb, was)``, ``so_long(instant)``, ``clock(instant, shape)``,
    ``lasting(seconds)`` and ``took(run)`` that know these.
    """
    times = Times(datetime.now(UTC), zone_of(request))
    text = environment.get_template(template).render(
        request=request,
        visit=visit,
        now=times.now,
        zone=times.zone,
        zone_form=zone_form(request, at),
        live=live,
        at=at,
        live_seen=request.scope.get(SEEN, {}).get(live, ""),
        ago=times.ago,
        due=times.due,
        so_long=times.so_long,
        clock=lambda instant, shape="%H:%M:%S": clock(instant, times.zone, shape),
        lasting=times.lasting,
        took=times.took,
        exact=lambda instant: exact(instant, times.zone),
        **values,
    )
    return HTMLResponse(text, status_code=status, headers=dict(headers or {}))
