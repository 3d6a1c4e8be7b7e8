"""What people do to runs: cancel, retry, rerun, fork, skip, resolve, mark, acknowledge."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from koken.client.results import NO_RESULT
from koken.model.rights import Right
from koken.model.run import Run
from koken.web.access.door import Someone
from koken.web.acting import RIGHT_OF
from koken.web.api.answered import Once
from koken.web.api.asked import DryRun, Reasoned
from koken.web.api.lists import reply
from koken.web.api.models import Brief, RunShown
from koken.web.api.planmodels import PlanShown
from koken.web.masking import refuse_mask, refuse_masks
from koken.web.shown import run_shown
from koken.web.visit import Visit

router = APIRouter(tags=["repairs"], route_class=Once)
PLANNED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": RunShown | Brief | PlanShown,
        "description": "The run as it stands then; or the plan.",
    }
}
MADE: dict[int | str, dict[str, Any]] = {
    200: {"model": PlanShown, "description": "The plan, with `dry_run`."},
    201: {"model": RunShown | Brief, "description": "The new run."},
}


class Forced(Reasoned):
    """A repair."""

    force: bool = Field(False, description="Repeat what is unsafe as well; wants a reason.")


class RetryAsked(Forced):
    """A retry."""

    from_step: str | None = Field(None, description="From this step on.")
    args: dict[str, Any] | None = Field(None, description="Arguments to replace.")


class ForkAsked(Forced):
    """A fork."""

    from_step: str | None = Field(None, description="From which step on it goes again.")


class SkipAsked(Forced):
    """A skip."""

    step: str | None = Field(None, description="A step of the run, or an item: `table[3]`.")


class ResolveAsked(SkipAsked):
    """A step is done, by a fix outside."""

    result: Any = Field(None, description="What it would have returned; leave out for none.")


class MarkAsked(Forced):
    """A step by its number."""

    step: str | None = Field(None, description="None: the step or item that the run is.")
    code: int = Field(description="4 done, 3 skipped, 0 or 1 to run again.")


@router.post(
    "/runs/{run}/cancellations",
    summary="End a run for good",
    responses={200: {"model": RunShown | Brief}},
)
async def cancel_run(run: str, visit: Someone, body: Reasoned | None = None) -> Response:
    """One that runs is asked to stop, and ends when its worker confirms; one that has ended is
    refused."""
    there, found = await visit.run(run, RIGHT_OF["cancel"])
    after: Run[Any] = await there.client.cancel(found.id, reason=(body or Reasoned()).reason)
    return reply(run_shown(there, after))


@router.post(
    "/runs/{run}/acknowledgements",
    summary="Close a failure that somebody has seen",
    responses={200: {"model": RunShown | Brief}},
)
async def acknowledge_run(run: str, visit: Someone, body: Reasoned | None = None) -> Response:
    """`skip_if_failed` opens again."""
    there, found = await visit.run(run, RIGHT_OF["acknowledge"])
    after: Run[Any] = await there.client.acknowledge(found.id, reason=(body or Reasoned()).reason)
    return reply(run_shown(there, after))


@router.post("/runs/{run}/retries", summary="Give an ended run another chance", responses=PLANNED)
async def retry_run(
    run: str, visit: Someone, body: RetryAsked | None = None, dry_run: DryRun = False
) -> Response:
    """Attempts count from 1 again; what succeeded stays."""
    there, found = await visit.run(run, RIGHT_OF["retry"])
    asked = body or RetryAsked()
    refuse_masks(asked.args, there.house.web.mask, found.veil)
    wanted: dict[str, Any] = {"from_step": asked.from_step, "args": asked.args}
    if dry_run:
        return await planned(there, "retry", found, **wanted)
    after: Run[Any] = await there.client.retry(found.id, **wanted, **why(asked))
    return reply(run_shown(there, after))


@router.post(
    "/runs/{run}/reruns",
    summary="Start a new run of the job as it is now",
    status_code=201,
    responses=MADE,
)
async def rerun_run(
    run: str,
    request: Request,
    visit: Someone,
    body: Forced | None = None,
    dry_run: DryRun = False,
) -> Response:
    """With the same arguments; it says where it is from."""
    there, found = await visit.run(run, RIGHT_OF["rerun"])
    if dry_run:
        return await planned(there, "rerun", found)
    made: Run[Any] = await there.client.rerun(found.id, **why(body or Forced()))
    return new(request, there, made)


@router.post(
    "/runs/{run}/forks",
    summary="Start a new run that takes over what is before a step",
    status_code=201,
    responses=MADE,
)
async def fork_run(
    run: str,
    request: Request,
    visit: Someone,
    body: ForkAsked | None = None,
    dry_run: DryRun = False,
) -> Response:
    """Of the same version; that step and what follows it goes again."""
    there, found = await visit.run(run, RIGHT_OF["fork"])
    asked = body or ForkAsked()
    if dry_run:
        return await planned(there, "fork", found, asked.from_step)
    made: Run[Any] = await there.client.fork(found.id, asked.from_step, **why(asked))
    return new(request, there, made)


@router.post("/runs/{run}/skips", summary="Have a step count as skipped", responses=PLANNED)
async def skip_step(
    run: str, visit: Someone, body: SkipAsked | None = None, dry_run: DryRun = False
) -> Response:
    """One that failed, or has not begun; the others go on."""
    there, found = await visit.run(run, RIGHT_OF["skip"])
    asked = body or SkipAsked()
    if dry_run:
        return await planned(there, "skip", found, asked.step)
    after: Run[Any] = await there.client.skip(found.id, asked.step, **why(asked))
    return reply(run_shown(there, after))


@router.post(
    "/runs/{run}/resolutions",
    summary="Have a step count as done, after a fix outside",
    responses=PLANNED,
)
async def resolve_step(
    run: str, visit: Someone, body: ResolveAsked | None = None, dry_run: DryRun = False
) -> Response:
    """With the result that the other steps go on with."""
    there, found = await visit.run(run, RIGHT_OF["resolve"])
    asked = body or ResolveAsked()
    result = asked.result if "result" in asked.model_fields_set else NO_RESULT
    refuse_mask("result", result, there.house.web.mask)
    if dry_run:
        return await planned(there, "resolve", found, asked.step, result=result)
    after: Run[Any] = await there.client.resolve(found.id, asked.step, result=result, **why(asked))
    return reply(run_shown(there, after))


@router.post("/runs/{run}/marks", summary="Set a step by its number", responses=PLANNED)
async def mark_step(run: str, visit: Someone, body: MarkAsked, dry_run: DryRun = False) -> Response:
    """4 done, 3 skipped, 0 or 1 to run again, as `koken steps --codes` shows them."""
    there, found = await visit.run(run, RIGHT_OF["mark"])
    if dry_run:
        there.need(Right.READ)
        marked: tuple[str, Run[Any], str | None] = await there.client.marking(
            found.id, body.step, body.code
        )
        verb, part, step = marked
        return await planned(there, verb, part, step)
    after: Run[Any] = await there.client.mark(found.id, body.step, body.code, **why(body))
    return reply(run_shown(there, after))


def why(asked: Forced) -> dict[str, Any]:
    """What all repairs are told."""
    return {"reason": asked.reason, "force": asked.force}


async def planned(
    visit: Visit, verb: str, run: Run[Any], step: str | None = None, **wanted: Any
) -> Response:
    """What a repair would do. Raises ``Forbidden`` for who may not read: it tells of the run."""
    visit.need(Right.READ)
    return reply((await visit.client.plan(verb, run.id, step, **wanted)).to_json())


def new(request: Request, visit: Visit, made: Run[Any]) -> Response:
    """A run that a repair has made."""
    location = f"{request.scope['root_path']}/runs/{made.id}"
    return reply(run_shown(visit, made), 201, {"Location": location})
