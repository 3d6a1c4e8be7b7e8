"""The page of workspaces: those that somebody sees, and how they go from one to another."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from koken.model.rights import Right
from koken.views import words
from koken.views import workspaces as views
from koken.web.access.door import Reading
from koken.web.console.pages import page

router = APIRouter()


@router.get("/workspaces")
async def workspaces(request: Request, visit: Reading) -> HTMLResponse:
    """Those in which who asks may look around."""
    principal = visit.principal
    found = await views.workspaces(visit.views, principal.places(Right.READ))
    failed = sum(row.failed for row in found)
    wants = f"{words.capped(failed)} open {'failure' if failed == 1 else 'failures'} in all"
    return page(
        request,
        visit,
        "workspaces.html",
        found=found,
        sentence=f"You are in {visit.workspace}, one of {words.counted(len(found), 'workspace')}; "
        f"{wants if failed else 'no failure is open'}."
        if len(found) > 1
        else f"You are in {visit.workspace}, the only workspace that you see.",
        link=lambda name, path="/": f"{path}?{urlencode({'workspace': name})}",
        rights=lambda name: ", ".join(right for right in Right if principal.may(right, name)),
    )
