"""Live views for programs: server-sent events that a listener can take up where it left off."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from koken.errors import InvalidArguments
from koken.views import heardevents, heardlines, runs
from koken.views.fingerprints import MARK
from koken.views.steps import step_id
from koken.web.access.door import Reading, Someone
from koken.web.api.logs import StepNamed
from koken.web.api.strict import Strict
from koken.web.live.stream import COMMENT, Live, frame, last_seen, nothing_more, reading
from koken.web.live.topics import OfEvents, OfLog, OfRun
from koken.web.shown import event_json, run_shown
from koken.web.visit import Visit

router = APIRouter(tags=["streams"], route_class=Strict)
STREAM: dict[str, Any] = {
    "response_class": Live,
    "status_code": 200,
    "responses": {200: {"description": "Server-sent events."}},
    "openapi_extra": {
        "parameters": [
            {
                "name": "Last-Event-ID",
                "in": "header",
                "required": False,
                "schema": {"type": "string"},
                "description": "The `id` of the event that was heard last; opaque.",
            },
            {
                "name": "seen",
                "in": "query",
                "required": False,
                "schema": {"type": "string"},
                "description": "The same, for who cannot send a header.",
            },
        ]
    },
}
ENDED = "end"
"""The mark of who has heard that a run has ended."""
OVER = ";end"
"""What stands behind the mark of who has heard the end of a log."""
TAIL = 1000
MOST_TAIL = 10_000


@router.get("/runs/{run}/stream", summary="A run whenever it changes", **STREAM)
async def stream_run(run: str, request: Request, visit: Someone) -> Response:
    """``run`` with the whole run at first and at each change, ``end`` once it has ended.

    Who comes back with the ``Last-Event-ID`` that it heard last, hears of later changes only.
    """
    there, found = await visit.run(run)
    seen = last_seen(request)
    if seen not in (None, ENDED) and not MARK.fullmatch(seen):
        why = "is not the id of an event of this stream"
        raise InvalidArguments(f"{seen[:40]!r} {why}", {"seen": why})

    async def tell(versions: AsyncIterator[str | None]) -> AsyncIterator[str]:
        known = seen
        async for version in versions:
            if version is None:
                yield COMMENT
                continue
            now = (await runs.get_many(there.views, [found.id])).get(found.id)
            if now is not None and version != known:
                yield frame("run", json.dumps(run_shown(there, now)), version)
            known = version
            if now is None or now.state.ended:
                yield frame("end", "{}", ENDED)
                return

    if seen == ENDED and found.state.ended:
        return nothing_more()
    return Live(request, OfRun(found.id), tell, may=reading(there.workspace))


@router.get("/runs/{run}/logs/stream", summary="The lines of a run as they come", **STREAM)
async def stream_lines(
    run: str,
    request: Request,
    visit: Someone,
    tail: Annotated[
        int, Query(ge=0, le=MOST_TAIL, description="With how many of the last lines it begins.")
    ] = TAIL,
    step: StepNamed = "",
) -> Response:
    """``line`` for each line of the run and of the runs below it, ``end`` once all are told.

    With ``step`` all of that is about the run of this step.

    Who comes back with the ``Last-Event-ID`` that it heard last, hears each later line once.
    """
    there, found = await visit.run(run)
    if step:
        there, found = await there.run(str(await step_id(there.views, found, step)))
    seen = last_seen(request)
    before = None if seen is None else heardlines.Heard.read(seen.removesuffix(OVER))
    if seen is not None and seen.endswith(OVER) and found.state.ended:
        return nothing_more()

    async def tell(versions: AsyncIterator[str | None]) -> AsyncIterator[str]:
        db = there.views
        if before is None:
            listener = await heardlines.anew(db, found.id, last=tail)
        else:
            listener = heardlines.again(found.id, before)
        heard = before or heardlines.Heard(0, {})
        async for version in versions:
            if version is None:
                yield COMMENT
                continue
            state = (await runs.states(db, [found.id])).get(found.id)
            told, listener = await heardlines.after(db, listener)
            while told:
                for said, heard in told:
                    yield frame("line", json.dumps(said.to_json()), str(heard))
                told, listener = await heardlines.after(db, listener)
            if state is None or state.ended:
                yield frame("end", "{}", f"{heard}{OVER}")
                return

    return Live(request, OfLog(found.id), tell, may=reading(there.workspace))


@router.get("/events/stream", summary="What people do, as they do it", **STREAM)
async def stream_events(request: Request, visit: Reading) -> Response:
    """``event`` for each event of the workspace, from now on.

    Who comes back with the ``Last-Event-ID`` that it heard last, hears all that has come since;
    one that was told already may be told again, and has the same ``id`` in its data.
    """
    seen = last_seen(request)
    before = None if seen is None else heardevents.Heard.read(seen)
    common = visit.hears_common

    async def tell(versions: AsyncIterator[str | None]) -> AsyncIterator[str]:
        db, workspace = visit.views, visit.workspace
        heard = before or await heardevents.anew(db, workspace, common=common)
        if before is None:
            yield frame("begin", "{}", str(heard))
        async for version in versions:
            if version is None:
                yield COMMENT
                continue
            told, heard = await heardevents.after(db, workspace, heard, common=common)
            while told:
                for each, so_far in told:
                    yield frame("event", json.dumps(event_json(visit, each)), str(so_far))
                told, heard = await heardevents.after(db, workspace, heard, common=common)

    reads = reading(visit.workspace)

    def may(now: Visit) -> bool:
        return reads(now) and (now.hears_common or not common)

    return Live(request, OfEvents(visit.workspace), tell, may=may)
