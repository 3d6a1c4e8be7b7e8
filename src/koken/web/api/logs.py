"""What a run has printed and logged: page by page, its end, all of it as a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from koken.errors import InvalidArguments
from koken.model.run import Run
from koken.views import logpages, treelogs
from koken.views.logpages import LAST_ID, Sieve
from koken.views.steps import step_id
from koken.web.access.door import Someone
from koken.web.api.lists import listed
from koken.web.api.models import LineShown, Listed
from koken.web.api.strict import Strict
from koken.web.logtext import whole
from koken.web.numbers import number_in_query
from koken.web.visit import Visit

router = APIRouter(tags=["logs"], route_class=Strict)
MOST = 10_000
"""Lines of one page."""
Tree = Annotated[bool, Query(description="1: also what the runs below it have printed.")]
StepNamed = Annotated[str, Query(description="Of this step, or item: `table[3]`.")]
Number = Annotated[str | None, Query(description="The number of a line.")]
Level = Annotated[logpages.Level | None, Query(description="This or worse.")]
Stream = Annotated[logpages.Stream | None, Query(description="Of this stream only.")]
Containing = Annotated[str, Query(max_length=1000, description="Lines that contain this.")]


@router.get(
    "/runs/{run}/logs",
    summary="The lines of a run",
    responses={200: {"model": Listed[LineShown]}},
)
async def get_logs(
    run: str,
    visit: Someone,
    after: Number = None,
    before: Number = None,
    tail: Annotated[int | None, Query(ge=1, le=MOST, description="The last so many.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 1000,
    level: Level = None,
    stream: Stream = None,
    q: Containing = "",
    step: StepNamed = "",
    tree: Tree = False,
) -> Response:
    """The first lines after one, the last ones before one, or the end; always oldest first.

    `next` is the number with which to go on: as `after`, or as `before` where the page came by
    `before` or `tail`; null where there is nothing more now. Where lines are sought, a page may be
    shorter than asked for and yet have a next one.
    """
    if sum(each is not None for each in (after, before, tail)) > 1:
        why = "only one of after, before and tail"
        raise InvalidArguments(f"say {why}", {"after": why})
    there, found = await visit.run(run)
    names = await runs_of(there, found, step, tree=tree)
    sieve = Sieve(text=q, level=level or "", stream=stream or "")
    if before is None and tail is None:
        number = 0 if after is None else number_in_query("after", after, "line")
        page = await logpages.after(there.views, names, number, limit=limit, sieve=sieve)
        further = page.newer
    else:
        number = LAST_ID if before is None else number_in_query("before", before, "line")
        most = limit if tail is None else tail
        page = await logpages.before(there.views, names, number, limit=most, sieve=sieve)
        further = page.older
    return listed(
        (each.to_json() for each in page.lines), None if further is None else str(further)
    )


@router.get(
    "/runs/{run}/logs/download",
    summary="The lines of a run as a file",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def download_logs(
    run: str,
    visit: Someone,
    ansi: Annotated[bool, Query(description="0: without what steers a terminal.")] = True,
    level: Level = None,
    stream: Stream = None,
    q: Containing = "",
    step: StepNamed = "",
    tree: Tree = False,
) -> Response:
    """All of them, or those that are sought; sent as they are read."""
    there, found = await visit.run(run)
    names = await runs_of(there, found, step, tree=tree)
    sieve = Sieve(text=q, level=level or "", stream=stream or "")
    headers = {
        "Content-Disposition": f'attachment; filename="{found.job}-{found.id}.log"',
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(
        whole(there, names, ansi=ansi, sieve=sieve),
        media_type="text/plain; charset=utf-8",
        headers=headers,
    )


async def runs_of(visit: Visit, run: Run[Any], step: str, *, tree: bool) -> Mapping[int, str]:
    """The runs whose lines are meant, with what each is called. Raises ``NotFound``."""
    run_id = await step_id(visit.views, run, step) if step else run.id
    return await treelogs.tree(visit.views, run_id) if tree else {run_id: ""}
