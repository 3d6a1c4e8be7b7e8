"""How pages are made: templates, their filters, and what every page has around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.responses import HTMLResponse

from koken.model.duration import in_words
from koken.model.rights import Right
from koken.model.run import Run
from koken.views import words
from koken.web.console.live import SEEN
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


def exact(instant: datetime, zone: tzinfo) -> str:
    """An instant to the second, with its zone: ``2026-11-30 20:00:00 CET``."""
    return f"{instant.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"


def ago(instant: datetime | None, now: datetime, zone: tzinfo) -> Markup:
    """An instant as people say it, exact in its title; a script keeps it true."""
    if instant is None:
        return Markup("–")
    return Markup('<time datetime="{}" title="{}" data-ago>{}</time>').format(
        instant.isoformat(), exact(instant, zone), words.due(instant, now)
    )


def so_long(instant: datetime | None, now: datetime, zone: tzinfo) -> Markup:
    """For how long something has been so, as people say it, exact in its title; kept true too."""
    if instant is None:
        return Markup("–")
    return Markup('<time datetime="{}" title="{}" data-so-long>{}</time>').format(
        instant.isoformat(), exact(instant, zone), words.so_long(instant, now)
    )


def clock(instant: datetime | None, zone: tzinfo, shape: str = "%H:%M:%S") -> Markup:
    """An instant in the reader's zone, exact in its title."""
    if instant is None:
        return Markup("–")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        instant.isoformat(), exact(instant, zone), f"{instant.astimezone(zone):{shape}}"
    )


def lasting(seconds: float, now: datetime, zone: tzinfo) -> Markup:
    """How long something goes by now, when it began in its title; a script counts on."""
    began = now - timedelta(seconds=seconds)
    return Markup('<time datetime="{}" title="since {}" data-since>{}</time>').format(
        began.isoformat(), exact(began, zone), length(seconds)
    )


def took(run: Run[Any], now: datetime, zone: tzinfo) -> str:
    """How long a run was at work, or is by now."""
    told, began = words.took(run, now), words.begun(run)
    if run.ended_at is not None or began is None or told == "–":
        return told
    return lasting((now - began).total_seconds(), now, zone)


def length(seconds: float | None) -> str:
    """Seconds in words: ``1 h 4 min``."""
    return "–" if seconds is None else in_words(max(seconds, 0.0))


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
}
environment.globals |= {"words": words, "RAIL": RAIL, "Right": Right}


def page(
    request: Request,
    visit: Visit | None,
    template: str,
    *,
    live: str = "",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> HTMLResponse:
    """A page. ``live`` is the topic whose change refreshes it, as ``/live`` takes it.

    Templates have ``request``, ``visit``, ``now``, ``zone``, and the functions ``ago(instant)``,
    ``so_long(instant)``, ``clock(instant, shape)``, ``lasting(seconds)`` and ``took(run)`` that
    know these.
    """
    now = datetime.now(UTC)
    zone = zone_of(request)
    text = environment.get_template(template).render(
        request=request,
        visit=visit,
        now=now,
        zone=zone,
        live=live,
        live_seen=request.scope.get(SEEN, {}).get(live, ""),
        ago=lambda instant: ago(instant, now, zone),
        so_long=lambda instant: so_long(instant, now, zone),
        clock=lambda instant, shape="%H:%M:%S": clock(instant, zone, shape),
        lasting=lambda seconds: lasting(seconds, now, zone),
        took=lambda run: took(run, now, zone),
        exact=lambda instant: exact(instant, zone),
        **values,
    )
    return HTMLResponse(text, status_code=status, headers=dict(headers or {}))
