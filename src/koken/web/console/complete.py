"""Completion of queries, for the script of the query box."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import JSONResponse

from koken.views.suggestions import suggestions
from koken.web.access.door import Reading

router = APIRouter()


@router.get("/complete")
async def complete(
    visit: Reading,
    q: Annotated[str, Query(max_length=2000)] = "",
    at: Annotated[int, Query(ge=0)] = 2000,
) -> JSONResponse:
    """What may stand at the place ``at`` of a query."""
    mask = visit.house.web.mask
    found = await suggestions(visit.views, q, at, workspace=visit.workspace, mask=mask)
    return JSONResponse(asdict(found), headers={"Cache-Control": "no-store"})
