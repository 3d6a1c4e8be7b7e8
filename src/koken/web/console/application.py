"""The console: its pages put together, its own errors as pages that help."""

from __future__ import annotations

from pathlib import Path

from fastapi import Depends, FastAPI
from starlette.staticfiles import StaticFiles

from koken.web.console import (
    access,
    accessacts,
    account,
    bulk,
    complete,
    errors,
    events,
    faults,
    job,
    jobs,
    live,
    locks,
    mending,
    overview,
    queues,
    run,
    runlog,
    runs,
    scheduleacts,
    schedules,
    signin,
    startpage,
    workers,
    workspaces,
    zone,
)
from koken.web.house import House

STATIC = Path(__file__).parent / "static"


def console(house: House) -> FastAPI:
    """The application that is mounted at ``/``."""
    pages = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(live.see)],
    )
    pages.include_router(signin.router)
    pages.include_router(account.router)
    pages.include_router(faults.router)
    pages.mount("/static", StaticFiles(directory=STATIC), name="static")
    pages.include_router(live.router)
    pages.include_router(overview.router)
    pages.include_router(runs.router)
    pages.include_router(bulk.router)
    pages.include_router(complete.router)
    pages.include_router(jobs.router)
    pages.include_router(job.router)
    pages.include_router(startpage.router)
    pages.include_router(schedules.router)
    pages.include_router(scheduleacts.router)
    pages.include_router(mending.router)
    pages.include_router(runlog.router)
    pages.include_router(run.router)  # after all others below /runs/: it takes any name
    pages.include_router(queues.router)
    pages.include_router(workers.router)
    pages.include_router(locks.router)
    pages.include_router(events.router)
    pages.include_router(workspaces.router)
    pages.include_router(zone.router)
    pages.include_router(access.router)
    pages.include_router(accessacts.router)
    errors.install(pages)
    return pages
