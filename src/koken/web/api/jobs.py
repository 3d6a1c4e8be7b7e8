"""Jobs: what there is, what differs between their versions, when they are due."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from koken.engine import schedules as engine
from koken.errors import Refused
from koken.model.plain import stamp
from koken.views import catalog, versions
from koken.views.catalog import JobRow
from koken.views.graph import graph_of_job
from koken.views.jobfacts import job_facts
from koken.views.strips import failing_since, strips
from koken.views.upcoming import upcoming
from koken.web.access.door import Operating, Reading
from koken.web.api import lists
from koken.web.api.answered import Once
from koken.web.api.asked import Reasoned
from koken.web.api.jobmodels import (
    DifferencesShown,
    DueShown,
    JobDetail,
    JobShown,
    SwitchedShown,
    VersionDetail,
    VersionShown,
)
from koken.web.api.lists import Cursor, Limit, listed, reply
from koken.web.api.models import Listed
from koken.web.api.stepmodels import GraphShown
from koken.web.pictures import DESCRIBED, picture
from koken.web.specs import differences, form_shown, spec_shown
from koken.web.visit import Visit

router = APIRouter(tags=["jobs"], route_class=Once)
Name = Annotated[str, Path(description="The job's name.")]
Number = Annotated[int, Path(ge=1, le=versions.HIGHEST, description="A version's number.")]
Some = Annotated[int, Query(ge=1, le=100, description="How many.")]
OUTCOMES = 20


@router.get("/jobs", summary="List jobs by name", responses={200: {"model": Listed[JobShown]}})
async def list_jobs(
    visit: Reading,
    q: Annotated[
        str,
        Query(
            max_length=1000,
            description="As in the console: tag:money owner:data queue:night state:failing; a bare "
            "word is looked for in the name and the first line.",
        ),
    ] = "",
    retired: Annotated[
        bool, Query(description="Also those that no app declares any more.")
    ] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """With the last run and the next due time of each."""
    of = f"jobs {visit.workspace} {q!r} {retired}"
    name, number = lists.read(of, cursor) or (None, 0)
    found = await catalog.jobs(
        visit.views,
        workspace=visit.workspace,
        retired=retired,
        query=q,
        after=(name, number),
        limit=limit + 1,
    )
    return lists.page(
        of, found, limit, lambda row: [row.name, row.id], lambda row: row_json(visit, row)
    )


def row_json(visit: Visit, row: JobRow) -> dict[str, Any]:
    """A job of the list, without secrets."""
    return {**row.to_json(), "arguments": form_shown(row.parameters, visit.house.web.mask)}


@router.get("/jobs/{job}", summary="Look at a job", responses={200: {"model": JobDetail}})
async def get_job(job: Name, visit: Reading) -> Response:
    """As it is declared now, with its arguments, its schedules and how it has gone of late."""
    facts = await job_facts(visit.views, job, workspace=visit.workspace)
    found = await catalog.schedules(visit.views, workspace=visit.workspace, job=job)
    strip = (await strips(visit.views, [facts.id], workspace=visit.workspace, limit=OUTCOMES))[
        facts.id
    ]
    since = failing_since(strip)
    spec = spec_shown(facts.spec, visit.house.web.mask)
    return reply(
        {
            "name": facts.name,
            "app": facts.app,
            "version": facts.version,
            "published_at": stamp(facts.published_at),
            "published_by": facts.published_by,
            "spec": spec,
            "arguments": spec["parameters"],
            "schedules": [row.to_json() for row in found],
            "health": {
                "outcomes": [each.state.value for each in strip],
                "failing_since": None if since is None else str(since.id),
                "open_failures": facts.open_failures,
            },
            "retired_at": stamp(facts.retired_at),
        }
    )


@router.get(
    "/jobs/{job}/versions",
    summary="List the versions of a job, the newest first",
    responses={200: {"model": Listed[VersionShown]}},
)
async def list_versions(
    job: Name, visit: Reading, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """A version is made when something about a job has changed."""
    of = f"versions {visit.workspace} {job!r}"
    before = lists.read(of, cursor)
    found = await versions.versions(
        visit.views, job, workspace=visit.workspace, limit=limit + 1, before=before
    )
    return lists.page(of, found, limit, lambda row: row.number)


@router.get(
    "/jobs/{job}/versions/{number}",
    summary="Look at a version of a job",
    responses={200: {"model": VersionDetail}},
)
async def get_version(job: Name, number: Number, visit: Reading) -> Response:
    """All that it says."""
    _, spec = await versions.spec(visit.views, job, workspace=visit.workspace, number=number)
    return reply({"number": number, "spec": spec_shown(spec, visit.house.web.mask)})


@router.get(
    "/jobs/{job}/differences",
    summary="Compare two versions of a job",
    responses={200: {"model": DifferencesShown}},
)
async def compare_versions(
    job: Name,
    visit: Reading,
    old: Annotated[
        int | None,
        Query(alias="from", ge=1, le=versions.HIGHEST, description="Default: the one before `to`."),
    ] = None,
    new: Annotated[
        int | None,
        Query(alias="to", ge=1, le=versions.HIGHEST, description="Default: the current."),
    ] = None,
) -> Response:
    """Field by field, with what was before and what is after."""
    last, after = await versions.spec(visit.views, job, workspace=visit.workspace, number=new)
    if old is None and last == 1:
        return reply({"from": 1, "to": 1, "items": []})
    first, before = await versions.spec(
        visit.views, job, workspace=visit.workspace, number=last - 1 if old is None else old
    )
    items = [each.to_json() for each in differences(before, after, visit.house.web.mask)]
    return reply({"from": first, "to": last, "items": items})


@router.get(
    "/jobs/{job}/next",
    summary="Say when a job is due next",
    responses={200: {"model": Listed[DueShown]}},
)
async def next_of_job(job: Name, visit: Reading, n: Some = 5) -> Response:
    """By all its schedules that are not paused: the first `n`, and no further page."""
    await job_facts(visit.views, job, workspace=visit.workspace)
    found = await upcoming(
        visit.views, job, workspace=visit.workspace, after=datetime.now(UTC), number=n
    )
    return listed(each.to_json() for each in found)


@router.get(
    "/jobs/{job}/graph", summary="The steps of a job", responses={200: {"model": GraphShown}}
)
async def graph_of(job: Name, visit: Reading) -> Response:
    """As they are declared; a job without steps is one node."""
    await job_facts(visit.views, job, workspace=visit.workspace)
    return reply((await graph_of_job(visit.views, job)).to_json())


@router.get(
    "/jobs/{job}/graph.svg",
    summary="The steps of a job as a picture",
    response_class=Response,
    responses={200: DESCRIBED},
)
async def picture_of(job: Name, visit: Reading) -> Response:
    """As they are declared."""
    await job_facts(visit.views, job, workspace=visit.workspace)
    return picture(await graph_of_job(visit.views, job))


@router.post(
    "/jobs/{job}/pauses",
    summary="Stop the schedules of a job",
    responses={200: {"model": SwitchedShown}},
)
async def pause_job(job: Name, visit: Operating, body: Reasoned | None = None) -> Response:
    """It can still be started by hand."""
    return await switch_job(visit, job, body, paused=True)


@router.post(
    "/jobs/{job}/resumptions",
    summary="Let the schedules of a job fire again",
    responses={200: {"model": SwitchedShown}},
)
async def resume_job(job: Name, visit: Operating, body: Reasoned | None = None) -> Response:
    """What fell due meanwhile is recorded as skipped, unless `catchup` makes up for it."""
    return await switch_job(visit, job, body, paused=False)


async def switch_job(visit: Visit, job: str, body: Reasoned | None, *, paused: bool) -> Response:
    """Pause or resume all schedules of a job. Raises ``Refused`` where it has none."""
    await job_facts(visit.views, job, workspace=visit.workspace)
    if not await catalog.schedules(visit.views, workspace=visit.workspace, job=job, limit=1):
        raise Refused(f"job {job!r} has no schedule that could be paused", what=job)
    return await switch_schedules(visit, job, body, paused=paused)


async def switch_schedules(
    visit: Visit, job: str, body: Reasoned | None, *, paused: bool, schedule: int | None = None
) -> Response:
    """Pause or resume the schedules of a job, or one of them."""
    act = engine.pause if paused else engine.resume
    changed = await act(
        visit.db,
        job,
        workspace=visit.workspace,
        **visit.deed(body.reason if body else ""),
        schedule=schedule,
    )
    return reply({"paused": paused, "changed": changed})
