"""Tagged requests: what an outside scheduler calls, so that it drives jobs of ours."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from koken.define.spelling import did_you_mean
from koken.errors import InvalidArguments
from koken.views import jobtypes
from koken.web.access.door import Starting
from koken.web.api.answered import key_of, promising
from koken.web.api.bodies import described, fields
from koken.web.api.hookmodels import AcceptedShown
from koken.web.api.hooks import accepted
from koken.web.api.strict import Strict
from koken.web.starting import begin
from koken.web.visit import Visit

router = APIRouter(tags=["requests"], route_class=Strict)
LONGEST = 400
"""Characters of the id of a request."""
CLOUD_SCHEDULER = ("x-cloudscheduler-jobname", "x-cloudscheduler-scheduletime")
"""Which of its jobs, and for when."""
KNOWN_BY = (
    ("idempotency-key",),
    ("x-kronos-idempotency-key",),
    ("x-cloudtasks-taskname",),
    CLOUD_SCHEDULER,
)
"""Headers, all of which name a request together; the first that are there do."""
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
    `X-CloudScheduler-JobName` together with `X-CloudScheduler-ScheduleTime` (which is the run's
    logical time as well), or the body's `id` with its `source`.
    """
    given = await fields(request, (*FORMS, *ENVELOPE))
    job = await job_of(visit, given.get("type"))
    options = {"idempotency_key": named(request, given)}
    if all(request.headers.get(name) for name in CLOUD_SCHEDULER):
        options["logical_time"] = request.headers[CLOUD_SCHEDULER[1]]
    data = given.get("data")
    begun = await begin(visit, job, {} if data is None else data, options)
    return accepted(visit.base, begun)


async def job_of(visit: Visit, wanted: Any) -> str:
    """The job that a tag stands for. Raises ``InvalidArguments``."""
    if not isinstance(wanted, str) or not wanted:
        why = "is missing" if wanted is None else "is to be a text"
        raise InvalidArguments(f"type {why}", {"type": why})
    own = visit.house.registry.jobs
    here = visit.workspace
    if wanted in own or await jobtypes.is_job(visit.views, wanted, workspace=here):
        return wanted
    types = {job.name: job.declared.type for job in own.values()}
    stored = await jobtypes.of_type(visit.views, wanted, workspace=here)
    found = {name for name, each in types.items() if each == wanted}
    found |= {name for name in stored if name not in own}
    if len(found) == 1:
        return found.pop()
    if found:
        why = f"is the type of {', '.join(sorted(found)[:5])}; name one of them"
    else:
        known = await jobtypes.known(visit.views, workspace=here) | {
            *own,
            *filter(None, types.values()),
        }
        why = f"{wanted!r} is no job, nor the type of one.{did_you_mean(wanted, sorted(known))}"
    raise InvalidArguments(f"type {why}", {"type": why})


def named(request: Request, given: dict[str, Any]) -> str | None:
    """Under which key a request is known when it comes again. Raises ``InvalidArguments``.

    It says where it is from, and has its parts apart, so that no two requests share one by chance.
    """
    key_of(request)
    for way in KNOWN_BY:
        parts = [request.headers.get(name) for name in way]
        if all(parts):
            return spelled(way[0], *parts)
    if given.get("id") in (None, ""):
        return None
    return spelled("id", text(given, "source"), text(given, "id"))


def spelled(way: str, *parts: str | None) -> str:
    """A key of these parts. Raises ``InvalidArguments`` where they are too long."""
    size = sum(len(part or "") for part in parts)
    if size > LONGEST:
        why = f"has {size} characters; the limit is {LONGEST}"
        raise InvalidArguments(f"the id of the request {why}", {"id": why})
    *first, last = (part or "" for part in parts)
    apart = [part.replace("%", "%25").replace(":", "%3A") for part in first]
    return ":".join(["request", way, *apart, last])


def text(given: dict[str, Any], name: str) -> str | None:
    """A text, or a number as one. Raises ``InvalidArguments``."""
    value = given.get(name)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InvalidArguments(f"{name} is no text", {name: "is to be a text"})
