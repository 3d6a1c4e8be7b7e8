"""Tagged requests: what an outside scheduler calls, so that it drives jobs of ours."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from koken.define.spelling import did_you_mean
from koken.errors import InvalidArguments
from koken.views.jobtypes import called
from koken.web.access.door import Starting
from koken.web.api.answered import key_of, promising
from koken.web.api.bodies import described, fields
from koken.web.api.floormodels import AcceptedShown
from koken.web.api.hooks import accepted
from koken.web.starting import begin
from koken.web.visit import Visit

router = APIRouter(tags=["requests"])
LONGEST = 400
"""Characters of the id of a request."""
SCHEDULED_AT = "x-cloudscheduler-scheduletime"
FORMS: dict[str, Any] = {
    "type": {
        "type": "string",
        "description": "The name of a job, or the `type` that one job alone declares.",
    },
    "data": {"type": "object", "description": "Arguments by name.", "default": {}},
    "id": {
        "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}],
        "description": "What the sender calls it: one that comes again starts nothing new.",
    },
}
ENVELOPE = ("source", "specversion", "time", "subject", "datacontenttype", "dataschema")
"""What a CloudEvent has besides; it tells the job nothing."""
BODY = promising(
    described(FORMS | {name: {"type": "string"} for name in ENVELOPE}, required=("type",))
)


@router.post(
    "/requests",
    summary="Start a job by a tagged request, as outside schedulers send it",
    status_code=202,
    openapi_extra=BODY,
    responses={
        202: {
            "model": AcceptedShown,
            "description": "The run; of a request that came before, its run.",
        }
    },
)
async def take_request(request: Request, visit: Starting) -> Response:
    """`type` says which job, `data` has its arguments; a CloudEvent in JSON is one as well.

    A request that comes again starts nothing new. It is known by the first of these that it has:
    `Idempotency-Key`, `X-Kronos-Idempotency-Key`, `X-CloudTasks-TaskName`,
    `X-CloudScheduler-JobName` with `X-CloudScheduler-ScheduleTime` (which is the run's logical
    time as well), or the body's `id` with its `source`.
    """
    given = await fields(request, (*FORMS, *ENVELOPE))
    job = await job_of(visit, given.get("type"))
    options = {"idempotency_key": named(request, given)}
    if "x-cloudscheduler-jobname" in request.headers:
        options["logical_time"] = request.headers.get(SCHEDULED_AT)
    data = given.get("data")
    begun = await begin(visit, job, {} if data is None else data, options)
    return accepted(visit.house, begun)


async def job_of(visit: Visit, wanted: Any) -> str:
    """The job that a tag stands for. Raises ``InvalidArguments``."""
    if not isinstance(wanted, str) or not wanted:
        why = "is missing" if wanted is None else "is to be a text"
        raise InvalidArguments(f"type {why}", {"type": why})
    found, known = await called(visit.views, wanted, workspace=visit.workspace)
    if len(found) == 1:
        return found[0]
    if found:
        why = f"is the type of {', '.join(found[:5])}; name one of them"
    else:
        why = f"{wanted!r} is no job, nor the type of one.{did_you_mean(wanted, known)}"
    raise InvalidArguments(f"type {why}", {"type": why})


def named(request: Request, given: dict[str, Any]) -> str | None:
    """Under which key a request is known when it comes again. Raises ``InvalidArguments``."""
    headers = request.headers
    parts: list[str | None] = [key_of(request)]
    if parts == [None]:
        parts = [headers.get("x-kronos-idempotency-key") or headers.get("x-cloudtasks-taskname")]
    if parts == [None] and SCHEDULED_AT in headers:
        parts = [headers.get("x-cloudscheduler-jobname"), headers[SCHEDULED_AT]]
    if parts == [None] and given.get("id") is not None:
        parts = [text(given, "source"), text(given, "id")]
    found = ":".join(part for part in parts if part)
    if len(found) > LONGEST:
        why = f"has {len(found)} characters; the limit is {LONGEST}"
        raise InvalidArguments(f"the id of the request {why}", {"id": why})
    return f"request:{found}" if found else None


def text(given: dict[str, Any], name: str) -> str | None:
    """A text, or a number as one. Raises ``InvalidArguments``."""
    value = given.get(name)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InvalidArguments(f"{name} is no text", {name: "is to be a text"})
