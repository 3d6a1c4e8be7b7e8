"""What a run is made of and what happened to it: steps, attempts, records, causes, its graph."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from koken.views import belongings, events, runs
from koken.views.graph import Graph, graph_of_run
from koken.views.steps import steps
from koken.web.access.door import Someone
from koken.web.api import lists
from koken.web.api.lists import Cursor, Limit, reply
from koken.web.api.models import ActShown, Listed, RunShown
from koken.web.api.stepmodels import (
    AttemptShown,
    CheckpointShown,
    GraphShown,
    LedgerShown,
    SignalShown,
    StepShown,
    WhyShown,
)
from koken.web.api.strict import Strict
from koken.web.masking import masked_under, record_shown
from koken.web.pictures import DESCRIBED, SVG, picture
from koken.web.shown import event_json, run_shown, step_json
from koken.web.visit import Visit

router = APIRouter(tags=["runs"], route_class=Strict)


@router.get(
    "/runs/{run}/steps",
    summary="The steps of a run as they stand",
    responses={200: {"model": Listed[StepShown]}},
)
async def get_steps(
    run: str, visit: Someone, limit: Limit = 100, cursor: Cursor = None
) -> Response:
    """Those without a run yet included; of a step its items, of a function what it has recorded."""
    there, found = await visit.run(run)
    of = f"steps {found.id}"
    after = lists.read(of, cursor) or 0
    rows = await steps(there.views, found, after=after, limit=limit + 1)
    return lists.page(
        of,
        rows,
        limit,
        lambda row: row.no,
        lambda row: step_json(there, row),
    )


@router.get(
    "/runs/{run}/attempts",
    summary="All tries at a run, oldest first",
    responses={200: {"model": Listed[AttemptShown]}},
)
async def get_attempts(
    run: str, visit: Someone, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """The one at work included."""
    there, found = await visit.run(run)
    of = f"attempts {found.id}"
    after = lists.read(of, cursor)
    rows = await runs.attempts(there.views, found.id, after=after, limit=limit + 1)
    return lists.page(of, rows, limit, lambda row: row.lease)


@router.get(
    "/runs/{run}/children",
    summary="The runs that a run is made of, or has started",
    responses={200: {"model": Listed[RunShown]}},
)
async def get_children(
    run: str, visit: Someone, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Oldest first."""
    there, found = await visit.run(run)
    of = f"children {found.id}"
    after = lists.read(of, cursor) or 0
    rows = await belongings.children(there.views, found.id, after=after, limit=limit + 1)
    return lists.page(of, rows, limit, lambda row: row.id, lambda row: run_shown(there, row))


@router.get(
    "/runs/{run}/checkpoints",
    summary="What a body has recorded",
    responses={200: {"model": Listed[CheckpointShown]}},
)
async def get_checkpoints(
    run: str, visit: Someone, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """By key."""
    there, found = await visit.run(run)
    of = f"checkpoints {found.id}"
    after = lists.read(of, cursor) or ""
    words = there.house.web.mask
    rows = await belongings.checkpoints(there.views, found.id, after=after, limit=limit + 1)
    return lists.page(
        of,
        rows,
        limit,
        lambda row: row["key"],
        lambda row: {**row, "value": record_shown(row["key"], row["value"], words)},
    )


@router.get(
    "/runs/{run}/ledger",
    summary="Work that was handed elsewhere",
    responses={200: {"model": Listed[LedgerShown]}},
)
async def get_ledger(
    run: str, visit: Someone, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """A line for each item, by key and number."""
    there, found = await visit.run(run)
    of = f"ledger {found.id}"
    key, number = lists.read(of, cursor) or ("", -1)
    rows = await belongings.ledger(there.views, found.id, after=(key, number), limit=limit + 1)
    return lists.page(
        of,
        rows,
        limit,
        lambda row: [row["key"], row["no"]],
        lambda row: secret(there, row, row["key"], "item", "handle"),
    )


@router.get(
    "/runs/{run}/signals",
    summary="What was sent to a run",
    responses={200: {"model": Listed[SignalShown]}},
)
async def get_signals(
    run: str, visit: Someone, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Taken or not, oldest first."""
    there, found = await visit.run(run)
    of = f"signals {found.id}"
    after = lists.read(of, cursor) or 0
    rows = await belongings.signals(there.views, found.id, after=after, limit=limit + 1)
    return lists.page(
        of,
        rows,
        limit,
        lambda row: int(row["id"]),
        lambda row: secret(there, row, row["name"], "value"),
    )


def secret(visit: Visit, plain: dict[str, Any], name: str, *values: str) -> dict[str, Any]:
    """A record without the secrets in its values, or under a name that says it is one."""
    mask = visit.house.web.mask
    return plain | {each: masked_under(name, plain[each], mask) for each in values}


@router.get(
    "/runs/{run}/events",
    summary="What people did to a run, and why",
    responses={200: {"model": Listed[ActShown]}},
)
async def get_events(
    run: str, visit: Someone, limit: Limit = 100, cursor: Cursor = None
) -> Response:
    """Oldest first."""
    there, found = await visit.run(run)
    of = f"events of {found.id}"
    after = lists.read(of, cursor) or 0
    rows = await events.of_run_from(there.views, found.id, after=after, limit=limit + 1)
    return lists.page(of, rows, limit, lambda row: row.id, lambda row: event_json(there, row))


@router.get(
    "/runs/{run}/why",
    summary="Why a run stands as it does",
    responses={200: {"model": WhyShown}},
)
async def get_why(run: str, visit: Someone) -> Response:
    """What it waits for, and who stands in its way."""
    there, found = await visit.run(run)
    return reply((await there.client.why(found.id)).to_json())


@router.get(
    "/runs/{run}/graph",
    summary="The steps of a run and what they need",
    responses={200: {**DESCRIBED, "model": GraphShown, "description": "The graph."}},
)
async def get_graph(run: str, request: Request, visit: Someone) -> Response:
    """As values; as a picture for who accepts `image/svg+xml` and no JSON."""
    found = await graph(run, visit)
    accepted = request.headers.get("accept", "")
    if SVG in accepted and "json" not in accepted:
        return picture(found)
    return reply(found.to_json(), headers={"Vary": "Accept"})


@router.get(
    "/runs/{run}/graph.svg",
    summary="The steps of a run as a picture",
    response_class=Response,
    responses={200: DESCRIBED},
)
async def get_graph_picture(run: str, visit: Someone) -> Response:
    """Without a script, and without anything from elsewhere."""
    return picture(await graph(run, visit))


async def graph(run: str, visit: Visit) -> Graph:
    """The graph of a run."""
    there, found = await visit.run(run)
    return await graph_of_run(there.views, found)
