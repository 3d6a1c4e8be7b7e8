"""``koken worker``: the process that carries out runs."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from importlib.metadata import version
from typing import Annotated

import typer

from koken.app import App
from koken.cli import servicelog
from koken.cli.common import Common
from koken.cli.follow import length
from koken.cli.place import app_and_config
from koken.cli.service import serve
from koken.cli.stopping import STOP
from koken.config import Config, read_queues
from koken.errors import InvalidArguments
from koken.views import words

logger = logging.getLogger("koken.worker")
Queues = Annotated[
    list[str] | None,
    typer.Option(
        "--queue", metavar="NAME:SLOTS", help="A queue to serve, such as reports:4; repeat it."
    ),
]


def worker(
    ctx: typer.Context,
    queue: Queues = None,
    grace: Annotated[
        str, typer.Option(metavar="DURATION", help="How long bodies may go on after a stop.")
    ] = "",
) -> int:
    """Carry out runs until stopped. A second signal stops what still runs at once."""
    common: Common = ctx.obj
    servicelog.begin(as_json=common.json)
    app, found = app_and_config(common)
    config = changed(found, queue, grace)
    greet(app, config)
    return asyncio.run(serve(app, config, STOP))


def changed(config: Config, queue: list[str] | None, grace: str) -> Config:
    """The settings with what the command line says."""
    if queue:
        config = replace(config, queues=slots(queue))
    if grace:
        config = replace(config, grace=length(grace, "--grace"))
    return config


def slots(queue: list[str]) -> dict[str, int]:
    """The queues of the command line. Raises ``InvalidArguments``."""
    try:
        return read_queues(queue)
    except ValueError as error:
        raise InvalidArguments(f"--queue: {error}") from None


def greet(app: App, config: Config) -> None:
    """Say what begins, and where."""
    logger.info(
        "koken %s, app %s with %s, database %s",
        version("koken"),
        app.name or "without a name",
        words.counted(len(app.registry), "job"),
        words.address(config.database_url),
    )


COMMANDS = {"worker": worker}
