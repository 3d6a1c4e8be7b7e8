"""Queues and workers: how full they are, and what queues may start."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from koken.define import checks
from koken.engine import queues as engine
from koken.errors import DeclarationError, InvalidArguments
from koken.model.rights import Right
from koken.views import floor
from koken.web.access.door import Operating, Reading
from koken.web.api import lists
from koken.web.api.answered import Once
from koken.web.api.asked import Reasoned
from koken.web.api.floormodels import QueueShown, WorkerShown
from koken.web.api.lists import Cursor, Limit, listed, reply
from koken.web.api.models import Brief, Listed
from koken.web.api.wide import counted_in
from koken.web.queues import queue_named, rate_of
from koken.web.shown import seen
from koken.web.visit import Visit

router = APIRouter(tags=["floor"], route_class=Once)
MOST = 2**31 - 1
Name = Annotated[str, Path(description="The queue's name.")]
Everywhere = Annotated[
    bool, Query(description="1: count the runs of all workspaces, for who may look into all.")
]


class QueueAsked(Reasoned):
    """What is set of a queue; what is left out stays."""

    limit: int | None = Field(
        None, ge=0, le=MOST, description="Runs at once, over all workers; null: as many as fit."
    )
    rate: float | str | None = Field(
        None, description="Starts: a number a second, or `10/s`, `600/m`, `1000/h`; null: any."
    )
    burst: int = Field(1, ge=1, le=MOST, description="Starts that may come at once.")
    create: bool = Field(False, description="Make the queue, where nobody has named it yet.")


@router.get("/queues", summary="List queues", responses={200: {"model": Listed[QueueShown]}})
async def list_queues(visit: Reading, everywhere: Everywhere = False) -> Response:
    """What runs and waits in them of this workspace, and their limits. All: there are few."""
    rows = await floor.queues(visit.views, workspace=counted_in(visit, everywhere))
    return listed(row.to_json() for row in rows)


@router.get("/queues/{queue}", summary="Look at a queue", responses={200: {"model": QueueShown}})
async def get_queue(queue: Name, visit: Reading, everywhere: Everywhere = False) -> Response:
    """What runs and waits in it of this workspace, and its limits."""
    return reply((await queue_named(visit, queue, counted_in(visit, everywhere))).to_json())


@router.put(
    "/queues/{queue}",
    summary="Set the limits of a queue",
    responses={200: {"model": QueueShown | Brief}},
)
async def set_queue(queue: Name, visit: Operating, body: QueueAsked) -> Response:
    """`create` makes one that nobody has named yet. For those who may operate everywhere."""
    visit.need_everywhere(Right.OPERATE, "queues")
    try:
        checks.name(queue, "queue")
    except DeclarationError as error:
        raise InvalidArguments(str(error), {"queue": str(error)}) from None
    given = body.model_fields_set
    if not given & {"limit", "rate"}:
        raise InvalidArguments("give limit or rate", {"limit": "give it, or rate"})
    if not body.create:
        await queue_named(visit, queue, visit.workspace)
    await engine.set_limits(
        visit.db,
        queue,
        limit=body.limit if "limit" in given else ...,
        rate=rate_of(body.rate) if "rate" in given else ...,
        burst=body.burst,
        **visit.deed(body.reason),
    )
    return await as_it_is(visit, queue)


@router.post(
    "/queues/{queue}/pauses",
    summary="Hand out no run of a queue",
    responses={200: {"model": QueueShown | Brief}},
)
async def pause_queue(queue: Name, visit: Operating, body: Reasoned | None = None) -> Response:
    """What runs goes on. For those who may operate everywhere."""
    return await switch_queue(visit, queue, body, paused=True)


@router.post(
    "/queues/{queue}/resumptions",
    summary="Let a queue go on",
    responses={200: {"model": QueueShown | Brief}},
)
async def resume_queue(queue: Name, visit: Operating, body: Reasoned | None = None) -> Response:
    """For those who may operate everywhere."""
    return await switch_queue(visit, queue, body, paused=False)


async def switch_queue(
    visit: Visit, queue: str, body: Reasoned | None, *, paused: bool
) -> Response:
    """Pause a queue or let it go on."""
    visit.need_everywhere(Right.OPERATE, "queues")
    before = await queue_named(visit, queue, visit.workspace)
    if (before.paused_at is not None) is not paused:
        why = (body.reason if body else "") or None
        await engine.pause(visit.db, queue, paused=paused, **visit.deed(why))
    return await as_it_is(visit, queue)


async def as_it_is(visit: Visit, queue: str) -> Response:
    """A queue after a change, as who asks may see it."""
    row = await queue_named(visit, queue, visit.workspace)
    return reply(seen(visit, row.to_json(), "name", "limit", "rate", "burst", "paused_at"))


@router.get("/workers", summary="List workers", responses={200: {"model": Listed[WorkerShown]}})
async def list_workers(
    visit: Reading,
    gone: Annotated[bool, Query(description="1: also those that have left or were lost.")] = False,
    everywhere: Everywhere = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """With what each carries out of this workspace, and is as busy as that."""
    of = f"workers {visit.workspace} {gone} {everywhere}"
    cleared, number = lists.read(of, cursor) or (False, 0)
    rows = await floor.workers(
        visit.views,
        gone=gone,
        workspace=counted_in(visit, everywhere),
        after=(cleared, number),
        limit=limit + 1,
    )
    return lists.page(of, rows, limit, lambda row: [row.cleared, row.id])
