"""Runs: start one or many, find them, look at one."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from koken.errors import InvalidArguments
from koken.views import runs
from koken.web.access.door import Reading, Someone, Starting
from koken.web.api import lists
from koken.web.api.answered import Once, key_of, promising
from koken.web.api.bodies import described, fields
from koken.web.api.lists import Cursor, Limit, listed, reply
from koken.web.api.models import Brief, Listed, RunShown
from koken.web.api.strict import Strict
from koken.web.numbers import number_in_query
from koken.web.shown import run_json, run_shown
from koken.web.starting import begin, begin_many

router = APIRouter(tags=["runs"], route_class=Strict)
MANY = APIRouter(route_class=Once)
ROWS = 10_000
"""Runs that one request starts."""
OPTIONS = ("run_at", "delay", "priority", "queue", "overlap", "logical_time")
ONE = ("job", "args", "idempotency_key", *OPTIONS)
SEVERAL = ("job", "rows", *OPTIONS)
TIME = {"type": "string", "format": "date-time"}
FORMS: dict[str, Any] = {
    "job": {"type": "string"},
    "args": {"type": "object", "description": "Arguments by name.", "default": {}},
    "rows": {
        "type": "array",
        "maxItems": ROWS,
        "items": {"type": "object"},
        "description": "Arguments by name, of each run.",
    },
    "run_at": {**TIME, "description": "Not before this instant."},
    "delay": {
        "anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}],
        "description": "Not before so long from now: seconds, or 90s, 5m, 1d 6h.",
    },
    "priority": {"type": "integer", "minimum": -32768, "maximum": 32767},
    "queue": {"type": "string"},
    "overlap": {"type": "string", "description": "The overlap rule of this start: refuse, …"},
    "logical_time": {**TIME, "description": "The time that the run stands for."},
    "idempotency_key": {
        "type": "string",
        "maxLength": 500,
        "description": "As the header: a second start with it gives the first one's run.",
    },
}
START = promising(described({name: FORMS[name] for name in ONE}, required=("job",)))
START_MANY = described({name: FORMS[name] for name in SEVERAL}, required=("job", "rows"))


@router.post(
    "/runs",
    summary="Start a run of a job",
    status_code=201,
    responses={
        200: {"model": RunShown | Brief, "description": "The run that the idempotency key names."},
        201: {"model": RunShown, "description": "The run that was started."},
    },
    openapi_extra=START,
)
async def start_run(request: Request, visit: Starting) -> Response:
    """The idempotency key is the run's own: a second start with it gives the first one's run.

    Who may start and not read is told of one that was there before which it is, and no more.
    """
    given = await fields(request, ONE)
    job, args = named_job(given), given.pop("args", None)
    key = key_of(request)
    if key is not None:
        if given.get("idempotency_key") not in (None, key):
            why = "is another one than the header's"
            raise InvalidArguments(f"idempotency_key {why}", {"idempotency_key": why})
        given["idempotency_key"] = key
    begun = await begin(visit, job, {} if args is None else args, given)
    location = f"{request.scope['root_path']}/runs/{begun.run.id}"
    shown = run_json if begun.fresh else run_shown  # of a new one they know all
    status = 201 if begun.fresh else 200
    return reply(shown(visit, begun.run), status, {"Location": location})


@MANY.post(
    "/runs/batch",
    summary="Start many runs of a job: all or none",
    status_code=201,
    responses={
        201: {"model": Listed[RunShown], "description": "The runs, in the order of the rows."}
    },
    openapi_extra=START_MANY,
)
async def start_runs(request: Request, visit: Starting) -> Response:
    """One run for each row of arguments."""
    given = await fields(request, SEVERAL)
    job, rows = named_job(given), given.pop("rows", None)
    if not isinstance(rows, list) or len(rows) > ROWS:
        why = f"is to be a list of at most {ROWS:,} objects"
        raise InvalidArguments(f"rows {why}", {"rows": why})
    ids = await begin_many(visit, job, rows, given)
    found = await runs.get_many(visit.views, ids)
    return listed((run_json(visit, found[run_id]) for run_id in ids), status=201)


def named_job(given: dict[str, Any]) -> str:
    """The job of a start. Raises ``InvalidArguments``."""
    job = given.pop("job", None)
    if not isinstance(job, str) or not job:
        why = "is missing" if job is None else "is to be the name of a job"
        raise InvalidArguments(f"job {why}", {"job": why})
    return job


router.include_router(MANY)


@router.get(
    "/runs",
    summary="Find runs, the newest first",
    responses={200: {"model": Listed[RunShown]}},
)
async def find_runs(
    visit: Reading,
    q: Annotated[
        str,
        Query(max_length=4000, description="As in the console: job:report state:failed since:2h"),
    ] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
    before: Annotated[
        str | None,
        Query(description="Only those with a smaller number than this run's, for who knows one."),
    ] = None,
) -> Response:
    """Those of this workspace that no other run has started."""
    of = f"runs {visit.workspace} {q}"
    named = None if before is None else number_in_query("before", before, "run")
    before_id = lists.read(of, cursor) or named
    found = await runs.find(
        visit.views,
        visit.query(q),
        workspace=visit.workspace,
        limit=limit + 1,
        before=before_id,
    )
    return lists.page(of, found, limit, lambda run: run.id, lambda run: run_shown(visit, run))


@router.get("/runs/{run}", summary="Look at a run", responses={200: {"model": RunShown}})
async def get_run(run: str, visit: Someone) -> Response:
    """By its number; or by the name of a job: its last run in this workspace."""
    there, found = await visit.run(run)
    return reply(run_shown(there, found))
