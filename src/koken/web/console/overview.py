"""The first page: what needs a hand, what flows, what comes next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from koken.views.flow import Flow, Quarter
from koken.views.overview import job_names, overview
from koken.web.access.door import Reading
from koken.web.console.hands import beyond, hands
from koken.web.console.pages import hour_of, page, runs_where, zone_of

router = APIRouter()
HEIGHT = 60
"""Of the picture of a day."""
WIDTH = 10
"""Of a quarter of an hour in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A quarter of an hour in the picture."""

    x: int
    good: int
    bad: int
    """Heights."""
    quarter: Quarter
    href: str


@router.get("/")
async def first_page(request: Request, visit: Reading) -> HTMLResponse:
    """The overview."""
    zone, now = zone_of(request), datetime.now(UTC)
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    found = await overview(visit.views, workspace=visit.workspace, midnight=midnight)
    empty = not found.next and not found.flow.most and not found.flow.today
    return page(
        request,
        visit,
        "overview.html",
        live="workspace",
        found=found,
        hands=[*hands(found, visit)],
        beyond=[*beyond(found)],
        bars=bars(found.flow),
        hours=hours(found.flow, zone),
        height=HEIGHT,
        width=WIDTH * len(found.flow.quarters),
        axis=[each.at for each in found.flow.quarters[::24]],
        share=lambda rate: f"{rate:.0%}" if rate >= 0.1 else f"{rate:.1%}",
        clock_text=lambda at: f"{at.astimezone(zone):%H:%M}",
        most_waiting=max((each.ready for each in found.queues), default=0),
        no_jobs=empty and not await job_names(visit.views, visit.workspace),
    )


def bars(flow: Flow) -> list[Bar]:
    """The quarters of an hour as bars; what failed is seen even where it is little."""
    made = []
    for number, each in enumerate(flow.quarters):
        bad = max(round(HEIGHT * each.failed / flow.most), 3) if each.failed else 0
        good = max(round(HEIGHT * each.succeeded / flow.most), 1) if each.succeeded else 0
        shape, until = "%Y-%m-%dT%H:%MZ", each.at + timedelta(minutes=15)
        made.append(
            Bar(
                x=number * WIDTH,
                good=min(good, HEIGHT - bad),
                bad=bad,
                quarter=each,
                href=runs_where(since=f"{each.at:{shape}}", until=f"{until:{shape}}"),
            )
        )
    return made


def hours(flow: Flow, zone: tzinfo) -> list[tuple[datetime, int, int]]:
    """The same by the hour, as numbers: when, how many succeeded, how many failed."""
    found: dict[datetime, tuple[int, int]] = {}
    for each in flow.quarters:
        hour = hour_of(each.at, zone)
        good, bad = found.get(hour, (0, 0))
        found[hour] = (good + each.succeeded, bad + each.failed)
    return [(hour, good, bad) for hour, (good, bad) in found.items() if good or bad][::-1]
