"""``koken dev``: everything that an app needs, in one process that leaves nothing running."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import typer

from koken.app import App
from koken.cli import output, private, servicelog
from koken.cli.common import Common
from koken.cli.doors import Doors, bound
from koken.cli.live import Live, list_jobs
from koken.cli.minding import mind
from koken.cli.output import DIM
from koken.cli.place import SETTING, app_and_config, stated
from koken.cli.service import begin, end
from koken.cli.stopping import STOP
from koken.cli.tables import direct
from koken.cli.web import Port, listening_at
from koken.cli.worker import Queues, changed
from koken.client.awaiting import AsyncClient
from koken.config import Config
from koken.embedded.server import Server
from koken.errors import DatabaseUnreachable, DeclarationError
from koken.model.timing import DEFAULT, FAST
from koken.runtime.worker import Worker
from koken.store import migrate
from koken.views import catalog, words

SLOTS = 10
"""Slots of a queue that the settings do not name."""


def dev(
    ctx: typer.Context,
    queue: Queues = None,
    grace: Annotated[
        str, typer.Option(metavar="DURATION", help="How long bodies may go on after Ctrl-C.")
    ] = "3s",
    port: Port = None,
) -> int:
    """Run an app with a private PostgreSQL, a worker and the console, and show what happens."""
    common: Common = ctx.obj
    servicelog.begin(as_json=False, level=logging.WARNING)
    with ExitStack() as stack:
        app, config, where, server = surroundings(common, stack)
        if STOP.asked:
            return 0
        config = changed(with_all_queues(config, app), queue, grace)
        config = listening_at(config, "", port)
        output.say(
            ("koken dev", "bold"), f"  {app.name or 'app'} · {where}", (" · Ctrl-C ends it", DIM)
        )
        if server is not None:
            output.say((f"For your programs:  export {SETTING}={server.url}", DIM))
        doors = console(app, config, common, asked=port is not None)
        return asyncio.run(go(app, config, common, server, doors))


def surroundings(common: Common, stack: ExitStack) -> tuple[App, Config, str, Server | None]:
    """The app, its settings and where its database is; a private one is started if need be.

    Its address is known before it is started: the app, which may make a client when it is read,
    is to find it, and may also name a database of its own.
    """
    planned = ""
    if not stated():
        planned = os.environ[SETTING] = private.planned_url()
    app, config = app_and_config(common)
    if config.database_url != planned:
        return app, config, f"database {words.address(config.database_url)}", None
    output.say(("Starting PostgreSQL …", DIM))
    server = stack.enter_context(private.start(planned))
    found = replace(config, database_url=server.url)
    os.environ[SETTING] = server.url
    shared = "" if server.owned else ", shared with another koken dev"
    return app, found, f"PostgreSQL {server.version} in {private.DATA}{shared}", server


def with_all_queues(config: Config, app: App) -> Config:
    """Settings for a worker that serves every queue of the app, and looks often."""
    named = {job.spec.queue: SLOTS for job in app.registry}
    timing = FAST if config.timing == DEFAULT else config.timing
    return replace(config, queues={**named, **config.queues}, timing=timing)


def console(app: App, config: Config, common: Common, *, asked: bool) -> Doors | None:
    """The doors of the console, on another port where the usual one is taken; told here.

    None, with a word of how to get it, where the extra is not installed.
    """
    try:
        doors = bound_nearby(app, config, common, asked=asked)
    except DeclarationError as error:
        if asked:
            raise
        output.say((f"No console: {error}", DIM))
        return None
    output.say(("Console:  ", DIM), doors.told)
    return doors


def bound_nearby(app: App, config: Config, common: Common, *, asked: bool) -> Doors:
    """The doors, bound on any free port where the usual one is taken and nobody named it."""
    try:
        return bound(app, config, common)
    except DeclarationError:
        if asked:
            raise
        return bound(app, listening_at(config, "", 0), common)


async def go(
    app: App, config: Config, common: Common, server: Server | None, doors: Doors | None
) -> int:
    """Migrate, work, show, and end when asked to, or with the server; returns the exit code."""
    await migrate.migrate(direct(config), config.schema)
    worker = await begin(app, config, STOP)
    if worker is None:
        return 0
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(AsyncClient(app, by=common.who))
        if doors is not None:
            await doors.who_may()
            await stack.enter_async_context(doors.open())
        live = Live(client.link.views)
        await live.begin()
        await greet(client, app)
        showing = asyncio.ensure_future(live.go())
        stays = await unless_gone(server)
        with suppress(DatabaseUnreachable):
            await leave(worker, config)
        showing.cancel()
        with suppress(asyncio.CancelledError):
            await showing
        if stays:
            await live.look()
    return 0 if stays else DatabaseUnreachable.exit_code


async def unless_gone(server: Server | None) -> bool:
    """Wait to be asked to stop; False when the server ends before that."""
    asked = asyncio.ensure_future(STOP.wait())
    gone = asyncio.ensure_future(mind(server))
    await asyncio.wait((asked, gone), return_when=asyncio.FIRST_COMPLETED)
    stays = asked.done()
    for task in (asked, gone):
        task.cancel()
    return stays


async def greet(client: AsyncClient, app: App) -> None:
    """Say what there is to run."""
    known = await catalog.jobs(client.link.views, workspace=client.workspace)
    times = await catalog.schedules(client.link.views, workspace=client.workspace)
    mine = [job for job in known if job.name in app.registry]
    list_jobs(mine, [row for row in times if row.job in app.registry], datetime.now(UTC))


async def leave(worker: Worker, config: Config) -> None:
    """Stop the worker and say what becomes of what ran."""
    bodies = worker.runner.bodies
    if bodies:
        output.say(
            f"Stopping: {words.counted(bodies, 'run')} may go on for {config.grace:g} s; "
            "Ctrl-C again stops at once."
        )
    await end(worker, config.grace, STOP)
    output.say("Stopped; nothing is left running.")


COMMANDS = {"dev": dev}
