"""The API: its routers put together, its errors as problems, its description published."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI

from koken.web.api import (
    backfills,
    bulks,
    doctor,
    events,
    floor,
    hooks,
    jobs,
    locks,
    logs,
    repairs,
    requests,
    root,
    runs,
    schedules,
    speaking,
    steps,
    streams,
    ticks,
    tokens,
    users,
    waiting,
    workspaces,
)
from koken.web.api.describing import describe, named
from koken.web.api.problems import install
from koken.web.house import House


def api(house: House) -> FastAPI:
    """The application that is mounted at ``/api/v1``."""
    app = FastAPI(
        title="Koken",
        version=version("koken"),
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
        generate_unique_id_function=named,
    )
    install(app)
    describe(app)
    app.include_router(runs.router)  # first, since it is asked most: the router looks in order
    app.include_router(streams.router)
    app.include_router(bulks.router)
    app.include_router(repairs.router)
    app.include_router(speaking.router)
    app.include_router(logs.router)
    app.include_router(steps.router)
    app.include_router(jobs.router)
    app.include_router(schedules.router)
    app.include_router(ticks.router)
    app.include_router(floor.router)
    app.include_router(locks.router)
    app.include_router(waiting.router)
    app.include_router(events.router)
    app.include_router(workspaces.router)
    app.include_router(requests.router)
    app.include_router(hooks.router)
    app.include_router(users.router)
    app.include_router(tokens.router)
    app.include_router(doctor.router)
    app.include_router(backfills.router)
    app.include_router(root.router)
    return app
