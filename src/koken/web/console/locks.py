"""The page of locks: who has what, since when, who waits; and how one is taken away."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse

from koken.engine.unlock import unlock
from koken.errors import InvalidArguments
from koken.model.instants import with_offset
from koken.views import locks as views
from koken.views import words
from koken.views.locks import LockRow
from koken.views.query import is_id
from koken.web.access.door import Operating, Reading
from koken.web.console.forms import reason, text
from koken.web.console.pages import page

router = APIRouter()
PAGE = 100
KINDS = {
    "lock": "lock of a job or a step",
    "subject": "subject: one run at a time",
    "overlap": "line of a job's runs",
    "backfill": "pace of a backfill",
}


@router.get("/locks")
async def locks(
    request: Request, visit: Reading, key: str = "", since: str = "", after: str = ""
) -> HTMLResponse:
    """Those that somebody has or wants, held longest first."""
    place = None
    if is_id(after):
        place = (with_offset(since, "since") if since else None, int(after))
    found = await views.locks(
        visit.views,
        workspace=visit.workspace,
        key=key or None,
        limit=PAGE + 1,
        after=place,
    )
    shown = found[:PAGE]
    return page(
        request,
        visit,
        "locks.html",
        live=f"workspace:{visit.workspace}",
        found=shown,
        keys=await views.keys(visit.views, workspace=visit.workspace) if not (key or after) else (),
        key=key,
        kinds=KINDS,
        sentence=sentence(shown, len(found) > PAGE),
        more=following(shown[-1], key) if len(found) > PAGE else "",
    )


@router.post("/locks/unlock")
async def taking(request: Request, visit: Operating) -> RedirectResponse:
    """Take a lock from who has it."""
    form = await request.form()
    key, kind = text(form, "key"), text(form, "kind")
    if kind not in KINDS:
        raise InvalidArguments(f"there is no kind of lock {kind!r}")
    await unlock(
        visit.db,
        key,
        workspace=visit.workspace,
        kind=kind,
        force=text(form, "force") == "1",
        **visit.deed(reason(form)),
    )
    return RedirectResponse("/locks", 303)


def following(row: LockRow, key: str) -> str:
    """The address of what comes after a lock."""
    since = row.since.isoformat() if row.since else ""
    values = {"key": key, "since": since, "after": str(row.id)}
    return f"/locks?{urlencode({name: value for name, value in values.items() if value})}"


def sentence(found: Sequence[LockRow], more: bool) -> str:
    """How locks stand, in a line."""
    if not found:
        return "Nobody holds a lock, and nobody waits for one."
    held = sum(row.held > 0 for row in found)
    waiting = sum(row.waiting for row in found)
    first = f"{'More than ' if more else ''}{words.counted(held, 'lock')} held"
    wait = f"{words.capped(waiting)} {'run waits' if waiting == 1 else 'runs wait'}"
    return f"{first}; {wait} for one." if waiting else f"{first}; nobody waits."
