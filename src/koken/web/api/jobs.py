"""Jobs: what there is, what differs between their versions, when they are due."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from koken.engine import schedules as engine
from koken.errors import NotFound, Refused
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
    TickShown,
    VersionDetail,
    VersionShown,
)
from koken.web.api.lists import Cursor, Limit, answer, listed
from koken.web.api.models import GraphShown, Listed
from koken.web.api.ticks import page_of_ticks
from koken.web.pictures import DESCRIBED, picture
from koken.web.specs import form_shown, spec_shown
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
        str, Query(max_length=200, description="A part of the name, or of the first words.")
    ] = "",
    tag: Annotated[str, Query(max_length=200)] = "",
    owner: Annotated[str, Query(max_length=200)] = "",
    retired: Annotated[
        bool, Query(description="Also those that no app declares any more.")
    ] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """With the last run and the next due time of each."""
    of = f"jobs {visit.workspace} {q!r} {tag!r} {owner!r} {retired}"
    name, number = lists.read(of, cursor) or (None, 0)
    found = await catalog.jobs(
        visit.views,
        workspace=visit.workspace,
        retired=retired,
        text=q,
        tag=tag,
        owner=owner,
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
    return answer(
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
                "unresolved": facts.unresolved,
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
    return answer({"number": number, "spec": spec_shown(spec, visit.house.web.mask)})


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
        return answer({"from": 1, "to": 1, "items": []})
    first, before = await versions.spec(
        visit.views, job, workspace=visit.workspace, number=last - 1 if old is None else old
    )
    mask = visit.house.web.mask
    found = versions.compared(spec_shown(before, mask), spec_shown(after, mask))
    items = [each.to_json() for each in found]
    return answer({"from": first, "to": last, "items": items})


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
    "/jobs/{job}/ticks",
    summary="List the due times of a job, the newest first",
    responses={200: {"model": Listed[TickShown]}},
)
async def ticks_of_job(
    job: Name, visit: Reading, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Each with its verdict. Those that are due at the same time stand on the same page."""
    await job_facts(visit.views, job, workspace=visit.workspace)
    return await page_of_ticks(visit, job, None, limit, cursor)


@router.get(
    "/jobs/{job}/graph", summary="The steps of a job", responses={200: {"model": GraphShown}}
)
async def graph_of(job: Name, visit: Reading) -> Response:
    """As they are declared; a job without steps is one node."""
    await job_facts(visit.views, job, workspace=visit.workspace)
    return answer((await graph_of_job(visit.views, job)).to_json())


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
    return await switched(visit, job, body, paused=True)


@router.post(
    "/jobs/{job}/resumptions",
    summary="Let the schedules of a job fire again",
    responses={200: {"model": SwitchedShown}},
)
async def resume_job(job: Name, visit: Operating, body: Reasoned | None = None) -> Response:
    """What fell due meanwhile is recorded as skipped, unless `catchup` makes up for it."""
    return await switched(visit, job, body, paused=False)


async def switched(
    visit: Visit, job: str, body: Reasoned | None, *, paused: bool, schedule: int | None = None
) -> Response:
    """Pause or resume schedules of a job. Raises ``Refused`` where it has none."""
    await job_facts(visit.views, job, workspace=visit.workspace)
    rows: Sequence[Any] = await catalog.schedules(
        visit.views, workspace=visit.workspace, job=job, number=schedule
    )
    if not rows and schedule is not None:
        raise NotFound(f"there is no schedule {schedule} in workspace {visit.workspace!r}")
    if not rows:
        raise Refused(f"job {job!r} has no schedule that could be paused", what=job)
    act = engine.pause if paused else engine.resume
    changed = await act(
        visit.db,
        job,
        workspace=visit.workspace,
        **visit.deed(body.reason if body else ""),
        schedule=schedule,
    )
    return answer({"paused": paused, "changed": changed})
