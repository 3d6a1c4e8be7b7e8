"""The zone in which somebody sees times, chosen from all that there are."""

from __future__ import annotations

from functools import lru_cache
from zoneinfo import available_timezones

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from koken.errors import InvalidArguments
from koken.web.access.door import YEAR, Reading
from koken.web.access.origin import safe_path
from koken.web.console.pages import ZONE, page

router = APIRouter()


@router.get("/zone")
async def zone(request: Request, visit: Reading, to: str = "", back: str = "/") -> Response:
    """The form; with a zone, the way back, on which it is kept in the browser."""
    there = safe_path(back)
    if not to:
        return page(request, visit, "zone.html", zones=zones(), back=there)
    if to not in zones():
        raise InvalidArguments(f"there is no zone {to!r}", {"to": "is no zone"})
    answer = RedirectResponse(there, 303)
    answer.set_cookie(ZONE, to, max_age=int(YEAR), samesite="lax")
    return answer


@lru_cache(maxsize=1)
def zones() -> tuple[str, ...]:
    """The names of all zones: UTC first, then as an atlas has them."""
    known = {name for name in available_timezones() if "/" in name and not name.startswith("Etc/")}
    return ("UTC", *sorted(known))
