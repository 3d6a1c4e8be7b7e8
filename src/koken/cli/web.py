"""``koken web``: the console and the API, in one process; several may stand beside each other."""

from __future__ import annotations

import asyncio
import gc
import logging
from dataclasses import replace
from importlib.metadata import version
from typing import Annotated, Any

import typer

from koken.cli import servicelog
from koken.cli.common import Common
from koken.cli.doors import Doors, bound, serving
from koken.cli.place import place
from koken.cli.service import unless_stopped
from koken.cli.stopping import STOP, Stopping
from koken.cli.tables import refuse_others, standing
from koken.config import Config
from koken.errors import DatabaseUnreachable
from koken.views import words

PAUSE = 2.0
"""Seconds between two looks whether the database answers."""

logger = logging.getLogger("koken.web")
Host = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Where to listen; 0.0.0.0 is everywhere.")
]
Port = Annotated[
    int | None, typer.Option(metavar="PORT", min=0, max=65535, help="0 is any that is free.")
]


def web(ctx: typer.Context, host: Host = "", port: Port = None) -> int:
    """Serve the console and the API until stopped."""
    common: Common = ctx.obj
    servicelog.begin(as_json=common.json)
    loop = serving()
    here = place(common)
    config = listening_at(here.config, host, port)
    doors = bound(here.app or config.database_url, config, common)
    code: int = loop.run(serve(doors, STOP))
    return code


def listening_at(config: Config, host: str, port: int | None) -> Config:
    """The settings with what the command line says of where to listen."""
    changes: dict[str, Any] = {}
    if host:
        changes["host"] = host
    if port is not None:
        changes["port"] = port
    return replace(config, web=replace(config.web, **changes))


async def serve(doors: Doors, stop: Stopping) -> int:
    """Open the doors and keep them open until asked to stop; returns the exit code."""
    config: Config = doors.house.config
    if not await unless_stopped(usable(config), stop):
        return 0
    said = await doors.who_may()
    async with doors.open() as task:
        where = words.address(config.database_url)
        logger.info("koken %s, console on %s, database %s", version("koken"), doors.told, where)
        if said:
            logger.warning("%s", said)
        gc.collect()
        gc.freeze()  # what is loaded stays: the collector need not look at it in each request
        await unless_stopped(until_over(task), stop)
    return 0


async def until_over(task: asyncio.Task[None]) -> None:
    """Until the doors close by an error, which is raised."""
    await asyncio.shield(task)


async def usable(config: Config) -> None:
    """Until the database answers. Raises ``Conflict`` for tables that do not fit."""
    while True:
        try:
            return refuse_others(await standing(config))
        except DatabaseUnreachable as error:
            logger.warning("%s; trying again in %.0f s", error, PAUSE)
            await asyncio.sleep(PAUSE)


COMMANDS = {"web": web}
