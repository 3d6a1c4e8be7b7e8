"""What is done to many runs, at a rate."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from koken.engine import bulk as engine
from koken.model.bulk import Bulk, BulkVerb
from koken.views import bulks
from koken.views.bulks import FORESEEN
from koken.web.access.door import Operating, Reading
from koken.web.api import lists
from koken.web.api.answered import Once
from koken.web.api.asked import Asked, Reasoned
from koken.web.api.bulkmodels import BulkShown, PreviewShown, RefusalShown
from koken.web.api.lists import Cursor, Limit, listed, reply
from koken.web.api.models import Brief, Listed
from koken.web.numbers import number_in_path
from koken.web.shown import run_shown, seen
from koken.web.visit import Visit

router = APIRouter(tags=["bulks"], route_class=Once)


class BulkAsked(Asked):
    """Something for many runs."""

    verb: BulkVerb
    q: str = Field(max_length=4000, description="Which runs: job:report state:failed since:2h")
    rate: str | float = Field("5/s", description="How fast: runs a second, or 5/s, 100/m.")
    reason: str = Field(max_length=10_000, description="Why, for the record.")


@router.get(
    "/bulks",
    summary="What is done to many runs, the newest first",
    responses={200: {"model": Listed[BulkShown]}},
)
async def find_bulks(visit: Reading, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Of this workspace."""
    of = f"bulks {visit.workspace}"
    before = lists.read(of, cursor)
    rows = await bulks.bulks(visit.views, workspace=visit.workspace, limit=limit + 1, before=before)
    return lists.page(of, rows, limit, lambda row: row.id)


@router.post(
    "/bulks",
    summary="Retry, cancel, skip or acknowledge all runs that match",
    status_code=201,
    responses={201: {"model": BulkShown | Brief}},
)
async def start_bulk(body: BulkAsked, request: Request, visit: Operating) -> Response:
    """Those that match now. Workers do so.

    A retry stops by itself once ten of what it retried have ended, and more than half of the last
    twenty of those have failed again.
    """
    made = await visit.client.made_bulk(body.verb, visit.query(body.q), body.rate, body.reason)
    location = f"{request.scope['root_path']}/bulks/{made.id}"
    return reply(bulk_shown(visit, made), 201, {"Location": location})


@router.get(
    "/bulks/preview",
    summary="What a bulk would be about",
    responses={200: {"model": PreviewShown}},
)
async def preview_bulk(
    visit: Reading,
    q: Annotated[str, Query(max_length=4000)],
    verb: BulkVerb = "retry",
) -> Response:
    """`refusals` tells why some of the first `foreseen` runs would be left as they are.

    It only reads, and takes a moment however many runs match.
    """
    found = await bulks.preview(visit.views, visit.query(q), workspace=visit.workspace, verb=verb)
    seen = await engine.foresee(visit.db, verb, found.ids[:FORESEEN])
    plain = found.to_json()
    plain["first"] = [run_shown(visit, run) for run in found.first]
    return reply({**plain, "foreseen": seen.looked, "refusals": dict(seen.refusals)})


@router.get("/bulks/{bulk}", summary="Look at a bulk", responses={200: {"model": BulkShown}})
async def get_bulk(bulk: str, visit: Reading) -> Response:
    """How far it is."""
    return reply((await visit.client.bulk(number_in_path("bulk", bulk))).to_json())


@router.get(
    "/bulks/{bulk}/refusals",
    summary="Why runs of a bulk were left as they are",
    responses={200: {"model": Listed[RefusalShown]}},
)
async def get_refusals(bulk: str, visit: Reading) -> Response:
    """The most frequent reason first. All: runs are refused for a few reasons."""
    found = await visit.client.bulk(number_in_path("bulk", bulk))
    refusals = await bulks.refusals(visit.views, found.id)
    return listed({"reason": why, "runs": count} for why, count in refusals.most_common())


@router.post(
    "/bulks/{bulk}/pauses",
    summary="Have a bulk do nothing more for now",
    responses={200: {"model": BulkShown | Brief}},
)
async def pause_bulk(bulk: str, visit: Operating, body: Reasoned | None = None) -> Response:
    """What it has done goes on."""
    why = (body or Reasoned()).reason
    after = await visit.client.pause_bulk(number_in_path("bulk", bulk), reason=why)
    return reply(bulk_shown(visit, after))


@router.post(
    "/bulks/{bulk}/resumptions",
    summary="Let a bulk go on",
    responses={200: {"model": BulkShown | Brief}},
)
async def resume_bulk(bulk: str, visit: Operating, body: Reasoned | None = None) -> Response:
    """Failures from before do not count any more."""
    why = (body or Reasoned()).reason
    after = await visit.client.resume_bulk(number_in_path("bulk", bulk), reason=why)
    return reply(bulk_shown(visit, after))


@router.post(
    "/bulks/{bulk}/stops", summary="End a bulk", responses={200: {"model": BulkShown | Brief}}
)
async def stop_bulk(bulk: str, visit: Operating, body: Reasoned | None = None) -> Response:
    """What it has done goes on."""
    why = (body or Reasoned()).reason
    after = await visit.client.stop_bulk(number_in_path("bulk", bulk), reason=why)
    return reply(bulk_shown(visit, after))


def bulk_shown(visit: Visit, bulk: Bulk) -> dict[str, Any]:
    """A bulk as who asks may see it."""
    return seen(visit, bulk.to_json(), "id", "verb", "state")
