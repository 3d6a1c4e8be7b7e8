"""The pages of schedules: all of them with a strip of the day, and one with its due times."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from koken.model.instants import with_offset
from koken.views import catalog, oneschedule, words
from koken.views.agenda import agenda, verdict
from koken.views.catalog import ScheduleRow
from koken.views.lateness import LATE
from koken.web.access.door import Reading
from koken.web.console import jobwords, strip24
from koken.web.console.pages import page, zone_of

router = APIRouter()
PAGE = 100
TICKS = 50
NEXT = 5


@router.get("/schedules")
async def schedules(request: Request, visit: Reading, q: str = "", after: str = "") -> HTMLResponse:
    """All schedules whose job is called like that, those that are due first first."""
    now = datetime.now(UTC)
    found = await catalog.schedules(visit.views, workspace=visit.workspace)
    strip = await agenda(visit.views, workspace=visit.workspace, now=now)
    zone = zone_of(request)
    asked = [row for row in found if q.lower() in row.job.lower()]
    shown = following(sorted(asked, key=order), after)
    more = shown[PAGE - 1].id if len(shown) > PAGE else None
    return page(
        request,
        visit,
        "schedules.html",
        live=f"workspace:{visit.workspace}",
        sentence=sentence(found, now),
        found=found,
        rows=shown[:PAGE],
        q=q,
        picture=await asyncio.to_thread(strip24.picture, strip, zone),
        piles=strip24.told(strip, zone),
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
    found = await catalog.ticks(
        visit.views,
        facts.job,
        workspace=visit.workspace,
        limit=TICKS + 1,
        before=end,
        schedule=facts.id,
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
    return page(
        request,
        visit,
        "schedule.html",
        live=f"workspace:{visit.workspace}",
        facts=facts,
        ticks=shown,
        more=more,
        before=before,
        coming=coming,
        late=is_late(facts, now),
        verdict=verdict,
        times=jobwords.times,
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


def sentence(found: Sequence[ScheduleRow], now: datetime) -> str:
    """How schedules stand, in a line."""
    going = [row.next_at for row in found if row.paused_at is None and row.next_at is not None]
    parts = [words.counted(len(found), "schedule")]
    late = sum(is_late(row, now) for row in found)
    ahead = [at for at in going if at >= now - timedelta(seconds=LATE)]
    if ahead:
        parts.append(f"the next fires {words.due(max(min(ahead), now), now)}")
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
    return "; ".join(parts) + "."


def own_clock(at: datetime, zone: str, shape: str = "%H:%M") -> str:
    """An instant on the schedule's own clock."""
    return f"{at.astimezone(ZoneInfo(zone)):{shape}} {zone}"
