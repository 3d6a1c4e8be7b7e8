"""The page of workers: how each is, how full, and what it is doing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from koken.model.states import State
from koken.views import floor, words
from koken.views.floor import WorkerRow
from koken.views.marks import Mark
from koken.web.access.door import Reading
from koken.web.console.pages import page

router = APIRouter()
DOTS = 64
"""Slots that are drawn one by one; above it a number says it."""
STANDINGS = {
    "live": Mark("●", "live", "succeeded"),
    "draining": Mark("◔", "draining", "waiting"),
    "suspect": Mark("◌", "silent", "retry"),
    "lost": Mark(State.FAILED.glyph, "lost", "failed"),
    "stopped": Mark("–", "stopped", "skipped"),
}


@router.get("/workers")
async def workers(request: Request, visit: Reading, gone: bool = False) -> HTMLResponse:
    """Those that are alive; on request those that have left or were lost too."""
    found = await floor.workers(visit.views, gone=gone, workspace=visit.workspace)
    now = datetime.now(UTC)
    return page(
        request,
        visit,
        "workers.html",
        live=f"workspace:{visit.workspace}",
        found=found,
        gone=gone,
        sentence=sentence(found),
        standings=STANDINGS,
        alive=any(row.standing == "live" for row in found),
        most=DOTS,
        heard_at=lambda row: now - timedelta(seconds=max(row.silent_for, 0)),
    )


def sentence(found: Sequence[WorkerRow]) -> str:
    """How workers stand, in a line."""
    live = [row for row in found if row.standing == "live"]
    if not live:
        return "No worker is alive: nothing starts, and nothing goes on."
    busy, slots = sum(row.busy for row in live), sum(row.slots for row in live)
    runs = words.counted(busy, "run")
    told = f"{words.counted(len(live), 'worker')} alive, with {runs} of this workspace"
    others = [
        (sum(row.standing == standing for row in found), word)
        for standing, word in (("suspect", "silent"), ("draining", "draining"), ("lost", "lost"))
    ]
    kept = [f"{count} {'is' if count == 1 else 'are'} {word}" for count, word in others if count]
    return f"{told} on {words.counted(slots, 'slot')}{'; ' if kept else ''}{', '.join(kept)}."
