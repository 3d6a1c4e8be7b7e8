"""The page of locks: who has what, since when, who waits; and how one is taken away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse

from koken.engine.unlock import unlock
from koken.errors import InvalidArguments
from koken.model.instants import with_offset
from koken.model.run import Run
from koken.views import locks as views
from koken.views import runs, words
from koken.views.locks import LockRow
from koken.views.query import is_id
from koken.web.access.door import Operating, Reading
from koken.web.console.forms import reason, text
from koken.web.console.once import Once
from koken.web.console.pages import page
from koken.web.numbers import number_in_query
from koken.web.visit import Visit

router = APIRouter(route_class=Once)
PAGE = 100
KINDS = {
    "lock": "lock of a job or a step",
    "subject": "subject: one run at a time",
    "overlap": "line of a job's runs",
    "backfill": "pace of a backfill",
}


@router.get("/locks")
async def locks(
    request: Request,
    visit: Reading,
    key: str = "",
    since: str = "",
    after: str = "",
    taken: str = "",
) -> HTMLResponse:
    """Those that somebody has or wants, held longest first.

    ``taken``: the runs from which one was just taken, for the word that it is done.
    """
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
        taken=await runs_taken(visit, taken),
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
    run, since = text(form, "run"), text(form, "since")
    done = await unlock(
        visit.db,
        key,
        workspace=visit.workspace,
        kind=kind,
        run=number_in_query("run", run, "run") if run else None,
        since=with_offset(since, "since") if since else None,
        force=text(form, "force") == "1",
        **visit.deed(reason(form)),
    )
    query = urlencode({"taken": ",".join(map(str, done.runs))})
    return RedirectResponse(f"/locks?{query}", 303)


async def runs_taken(visit: Visit, numbers: str) -> Sequence[Run[Any]]:
    """The runs of those numbers that there are here, from which a lock was taken."""
    named = [int(number) for number in numbers.split(",")[:PAGE] if is_id(number)]
    if not named:
        return ()
    found = (await runs.get_many(visit.views, named)).values()
    return [run for run in found if run.workspace == visit.workspace]


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
