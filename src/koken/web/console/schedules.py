"""The pages of schedules: all of them with the agenda of a day, and one with its due times."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from koken.model.firing import filled
from koken.model.hiding import masked
from koken.model.instants import with_offset
from koken.views import catalog, oneschedule, ticks, words
from koken.views.agenda import agenda, verdict
from koken.views.catalog import ScheduleRow
from koken.views.lateness import LATE
from koken.web.access.door import Reading
from koken.web.console import agendapicture, jobwords
from koken.web.console.forms import Asked
from koken.web.console.pages import page, zone_of
from koken.web.console.timetags import Times
from koken.web.starting import form_of

router = APIRouter()
PAGE = 100
TICKS = 50
NEXT = 5


@router.get("/schedules")
async def schedules(
    request: Request, visit: Reading, q: Asked = "", after: str = ""
) -> HTMLResponse:
    """All schedules whose job is called like that, those that are due first first."""
    now = datetime.now(UTC)
    found = await catalog.schedules(visit.views, workspace=visit.workspace)
    ahead = await agenda(visit.views, workspace=visit.workspace, now=now)
    zone = zone_of(request)
    asked = [row for row in found if q.lower() in row.job.lower()]
    shown = following(sorted(asked, key=order), after)
    more = shown[PAGE - 1].id if len(shown) > PAGE else None
    return page(
        request,
        visit,
        "schedules.html",
        live=f"workspace:{visit.workspace}",
        sentence=sentence(found, Times(now, zone)),
        found=found,
        rows=shown[:PAGE],
        q=q,
        picture=await asyncio.to_thread(agendapicture.picture, ahead, zone),
        piles=agendapicture.told(ahead, zone),
        late=lambda row: is_late(row, now),
        more=f"/schedules?{urlencode({'q': q, 'after': more})}" if more else "",
        verdict=verdict,
        own=own_clock,
        overlaps=jobwords.OVERLAP_BRIEFLY,
        catchups=jobwords.CATCHUP_BRIEFLY,
    )


@router.get("/schedules/{schedule_id:int}")
async def schedule(
    request: Request, visit: Reading, schedule_id: int, before: str = ""
) -> HTMLResponse:
    """One schedule, with its due times, the newest first."""
    facts = await oneschedule.one(visit.views, number(schedule_id), workspace=visit.workspace)
    end = with_offset(before, "before") if before else None
    found = await ticks.ticks(
        visit.views,
        workspace=visit.workspace,
        schedule=facts.id,
        before=end,
        limit=TICKS + 1,
    )
    shown = found[:TICKS]
    more = ""
    if len(found) > TICKS:
        more = f"/schedules/{facts.id}?{urlencode({'before': shown[-1].due_at.isoformat()})}"
    now = datetime.now(UTC)
    coming: Sequence[datetime] = ()
    if facts.paused_at is None and facts.retired_at is None:
        until = now + timedelta(days=3660)
        coming = await asyncio.to_thread(facts.schedule.due_between, now, until, NEXT)
    local = now.astimezone(ZoneInfo(facts.timezone))
    given = filled(facts.schedule.args, local, visit.workspace)
    form = json.loads(await form_of(visit, facts.job) or "{}")
    return page(
        request,
        visit,
        "schedule.html",
        live=f"workspace:{visit.workspace}",
        facts=facts,
        ticks=shown,
        more=more,
        end=end,
        args=words.arguments(masked(given, visit.house.web.mask, form)),
        coming=coming,
        late=is_late(facts, now),
        verdict=verdict,
        times=jobwords.times,
        own=own_clock,
        wall=lambda at, shape: f"{at.astimezone(ZoneInfo(facts.timezone)):{shape}}",
        overlaps=jobwords.OVERLAP_BRIEFLY,
        catchups=jobwords.CATCHUP_BRIEFLY,
        since=f"{local - timedelta(days=1):%Y-%m-%dT00:00}",
        until=f"{local:%Y-%m-%dT%H:%M}",
    )


def number(given: int) -> int:
    """The number of a schedule; one that is too long for any is none's."""
    return given if given < 2**31 else 0


def order(row: ScheduleRow) -> tuple[int, float, str, str]:
    """Broken ones, then by the next time, then paused ones."""
    rank = 0 if row.problem else 2 if row.paused_at is not None else 1
    return rank, row.next_at.timestamp() if row.next_at else float("inf"), row.job, row.name


def following(rows: Sequence[ScheduleRow], after: str) -> Sequence[ScheduleRow]:
    """What comes after the one of that number; all, where that is not there any more."""
    places = [place for place, row in enumerate(rows) if str(row.id) == after]
    return rows[places[0] + 1 :] if places else rows


def is_late(row: ScheduleRow | oneschedule.OneSchedule, now: datetime) -> bool:
    """Whether it should have fired by now."""
    return (
        row.paused_at is None
        and row.next_at is not None
        and row.next_at < now - timedelta(seconds=LATE)
    )


def sentence(found: Sequence[ScheduleRow], times: Times) -> Markup:
    """How schedules stand, in a line."""
    now = times.now
    going = [row.next_at for row in found if row.paused_at is None and row.next_at is not None]
    parts: list[str] = [words.counted(len(found), "schedule")]
    late = sum(is_late(row, now) for row in found)
    ahead = [at for at in going if at >= now - timedelta(seconds=LATE)]
    if ahead:
        parts.append(Markup("the next {}").format(times.due(min(ahead), "fires")))
    elif found:
        parts.append("none fires by itself")
    numbers = [
        (sum(row.paused_at is not None for row in found), "paused"),
        (late, "late"),
        (sum(bool(row.problem) for row in found), "broken"),
    ]
    kept = [f"{count} {'is' if count == 1 else 'are'} {word}" for count, word in numbers if count]
    if kept:
        parts.append(", ".join(kept))
    return Markup("; ").join(parts) + "."


def own_clock(at: datetime, zone: str, shape: str) -> str:
    """An instant on the schedule's own clock."""
    return f"{at.astimezone(ZoneInfo(zone)):{shape}} {zone}"
