"""Pages that explain what a request can be refused for; the ``type`` of a problem leads here."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from koken.errors import NotFound
from koken.web.console.errors import visitor
from koken.web.console.pages import page
from koken.web.faults import FAULTS, PLACE

router = APIRouter()


@router.get(f"{PLACE}/{{code}}")
async def fault_page(request: Request, code: str) -> HTMLResponse:
    """What a code means, and what to do. For anybody: it tells nothing of what is here."""
    fault = FAULTS.get(code)
    if fault is None:
        raise NotFound(f"there is no kind of problem {code!r}")
    return page(request, await visitor(request), "fault.html", code=code, fault=fault)
