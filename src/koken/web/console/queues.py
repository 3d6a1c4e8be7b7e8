"""The pages of queues: how full each is, who has paused it, and what may be set of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import EllipsisType
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse

from koken.engine import queues as engine
from koken.errors import InvalidArguments
from koken.model.rights import Right
from koken.views import floor, words
from koken.views.cause import listed
from koken.views.floor import QueueRow
from koken.views.queuewaits import waits
from koken.web.access.door import Operating, Reading
from koken.web.console import forms
from koken.web.console.once import Once
from koken.web.console.pages import page
from koken.web.queues import queue_named, rate_of

router = APIRouter(route_class=Once)
MOST = 2**31 - 1
BAR = 120


@router.get("/queues")
async def queues(request: Request, visit: Reading) -> HTMLResponse:
    """All queues: what of this workspace runs and waits in them."""
    found = await floor.queues(visit.views, workspace=visit.workspace)
    return page(
        request,
        visit,
        "queues.html",
        live=f"workspace:{visit.workspace}",
        found=sorted(found, key=order),
        waits=await waits(visit.views, workspace=visit.workspace),
        sentence=sentence(found),
        size=size,
        filled=filled,
        rate=words.rate,
        link=link,
    )


@router.get("/queues/{name}")
async def queue(request: Request, visit: Reading, name: str) -> HTMLResponse:
    """One queue, and what may be done with it."""
    row = await queue_named(visit, name, visit.workspace)
    return page(
        request,
        visit,
        "queue.html",
        live=f"workspace:{visit.workspace}",
        row=row,
        next=(await waits(visit.views, workspace=visit.workspace)).get(name),
        may=visit.principal.everywhere(Right.OPERATE),
        size=size,
        filled=filled,
        rate=words.rate,
        link=link,
    )


@router.post("/queues/{name}/pause")
async def pause(request: Request, visit: Operating, name: str) -> RedirectResponse:
    """Hand out none of its runs."""
    visit.need_everywhere(Right.OPERATE, "queues")
    reason = forms.reason(await request.form())
    await engine.pause(visit.db, name, paused=True, **visit.deed(reason))
    return RedirectResponse(link(name), 303)


@router.post("/queues/{name}/resume")
async def resume(request: Request, visit: Operating, name: str) -> RedirectResponse:
    """Hand out its runs again."""
    visit.need_everywhere(Right.OPERATE, "queues")
    reason = forms.reason(await request.form())
    await engine.pause(visit.db, name, paused=False, **visit.deed(reason))
    return RedirectResponse(link(name), 303)


@router.post("/queues/{name}/limits")
async def limits(request: Request, visit: Operating, name: str) -> RedirectResponse:
    """Set how much goes at once, and how much starts."""
    visit.need_everywhere(Right.OPERATE, "queues")
    row = await queue_named(visit, name, visit.workspace)
    form = await request.form()
    await engine.set_limits(
        visit.db,
        name,
        limit=limit_of(forms.text(form, "limit"), row),
        rate=rate_in(forms.text(form, "rate"), row),
        burst=row.burst,
        **visit.deed(forms.reason(form)),
    )
    return RedirectResponse(link(name), 303)


def limit_of(text: str, row: QueueRow) -> int | EllipsisType | None:
    """A limit as it was written; ``...`` where it is the one there is."""
    text = text.strip()
    if not text:
        return ... if row.max_running is None else None
    if not re.fullmatch("[0-9]{1,10}", text) or int(text) > MOST:
        raise InvalidArguments(f"the limit is {text!r}; write a number such as 4, or nothing")
    return ... if int(text) == row.max_running else int(text)


def rate_in(text: str, row: QueueRow) -> float | EllipsisType | None:
    """Starts a second as they were written; ``...`` where it is the rate there is."""
    text = text.strip()
    if text == words.rate(row.rate):
        return ...
    return rate_of(text or None)


def order(row: QueueRow) -> tuple[bool, bool, bool, str]:
    """Paused and full ones first, then those in which runs wait."""
    return row.paused_at is None, not row.full, row.ready == 0, row.name


def size(row: QueueRow) -> int:
    """How many may go at once: by the limit, or as many as there are slots."""
    return row.slots if row.max_running is None else min(row.max_running, max(row.slots, 0))


def filled(row: QueueRow) -> int:
    """How much of the bar is taken."""
    return (
        min(round(BAR * row.running / size(row)), BAR) if size(row) else BAR if row.running else 0
    )


def link(name: str) -> str:
    """The page of a queue."""
    return f"/queues/{quote(name, safe='')}"


def sentence(found: Sequence[QueueRow]) -> str:
    """How queues stand, in a line."""
    running, ready = (sum(getattr(row, name) for row in found) for name in ("running", "ready"))
    parts = [f"{words.capped(running)} running, {words.capped(ready)} waiting for a slot"]
    paused = [row.name for row in found if row.paused_at is not None]
    if paused:
        parts.append(f"{listed(paused)} {'is' if len(paused) == 1 else 'are'} paused")
    full = [row.name for row in found if row.full and row.paused_at is None]
    if full:
        parts.append(f"{listed(full)} {'is' if len(full) == 1 else 'are'} full")
    unserved = [row.name for row in found if row.ready and not row.slots]
    if unserved:
        parts.append(f"no worker serves {listed(unserved)}")
    return f"{words.counted(len(found), 'queue')}: {'; '.join(parts)}."
