"""``koken logs wait``: what a run prints while it goes, and its end as an exit code."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from koken.cli import output, telling
from koken.cli.common import Common
from koken.cli.lists import checked_limit
from koken.cli.output import DIM, GAP
from koken.cli.place import with_client
from koken.cli.show import Named, StepNamed, log_line, speaker
from koken.client.awaiting import AsyncClient
from koken.errors import InvalidArguments, KokenError
from koken.model.duration import seconds
from koken.model.run import Run
from koken.model.states import State
from koken.views import runwords, treelogs, words
from koken.views.treelogs import Said

LOOK = 0.3
"""Seconds between two looks at what goes on."""
PAGE = 1000
Timeout = Annotated[
    str, typer.Option(metavar="DURATION", help="Give up after so long, such as 5m.")
]


class TooLate(KokenError):
    """What was waited for has not come in time."""

    code = "timeout"


def verdict(run: Run[Any]) -> int:
    """The exit code that an ended run stands for."""
    return 0 if run.state is State.SUCCEEDED else 1


def say_end(common: Common, run: Run[Any]) -> int:
    """Print how a run ended; returns its exit code."""
    if common.json:
        output.as_json(run.to_json())
    else:
        output.say(output.titled(run), (telling.ending(run), output.style_of(run)))
        if run.state is State.FAILED:
            traced = run.error is not None and run.error.traceback
            what = "its traceback" if traced else "more on it"
            output.say((f"{GAP}{what}: koken show {run.id}", DIM))
    return verdict(run)


async def until_ended(client: AsyncClient, run: Run[Any] | str, limit: float | None) -> Run[Any]:
    """The run once it has ended. Raises ``TooLate``."""
    try:
        return await client.wait(run, limit)
    except TimeoutError as error:
        raise TooLate(f"{error}; it goes on") from None


def wait(
    ctx: typer.Context,
    run: Named,
    timeout: Timeout = "",
) -> int:
    """Wait until a run has ended; exit 0 when it succeeded, 1 when not."""
    common: Common = ctx.obj
    limit = length(timeout, "--timeout") if timeout else None
    return say_end(common, with_client(common, lambda client: until_ended(client, run, limit)))


def length(text: str, option: str) -> float:
    """A length of time from the command line. Raises ``InvalidArguments``."""
    try:
        return seconds(text, name=option)
    except ValueError as error:
        raise InvalidArguments(str(error)) from None


def logs(
    ctx: typer.Context,
    run: Named,
    step: StepNamed = "",
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run has ended.")
    ] = False,
    limit: Annotated[
        int, typer.Option(metavar="N", help="At most so many lines, the last.")
    ] = PAGE,
) -> None:
    """Print what a run, or one of its steps, has printed and logged, with the runs below it."""
    common: Common = ctx.obj
    most = checked_limit(limit)
    if follow:
        with_client(common, lambda client: following(client, common, run, step, most))
        return
    whose, found = with_client(common, lambda client: last_lines(client, run, step, most))
    if common.json:
        output.items(found)
    elif found:
        Printer(common).add(found)
    elif whose is not None:
        print(f"{runwords.called(whose)} has printed nothing", file=sys.stderr)


async def last_lines(
    client: AsyncClient, named: str, step: str, most: int
) -> tuple[Run[Any] | None, list[Said]]:
    """A run, and the last of what it and the runs below it have printed."""
    run = await speaker(client, named, step)
    if run is None:
        return None, []
    found, _ = await treelogs.tail(client.link.views, run.id, limit=most)
    return run, found


async def following(client: AsyncClient, common: Common, named: str, step: str, limit: int) -> None:
    """The last lines, then every new one, until the run has ended and all are read."""
    run = await speaker(client, named, step)
    if run is None:
        return
    printer = Printer(common)
    found, place = await treelogs.tail(client.link.views, run.id, limit=limit)
    printer.add(found)
    while True:
        begun = time.monotonic()
        ended = (await client.get(run.id)).state.ended
        found, place = await treelogs.after(client.link.views, place, limit=PAGE)
        printer.add(found)
        if not found and ended:
            return
        if not found:
            await asyncio.sleep(max(LOOK, 3 * (time.monotonic() - begun)))


class Printer:
    """Prints lines, with a mark where another attempt begins."""

    def __init__(self, common: Common) -> None:
        self.common = common
        self.tries: dict[int, int] = {}
        """By run, how many attempts had ended before its last line."""

    def add(self, found: Sequence[Said]) -> None:
        """Print more lines."""
        for each in found:
            if self.common.json:
                output.as_json(each.to_json())
                continue
            who = f"{words.plain(each.who)} | " if each.who else ""
            before = self.tries.get(each.run_id, each.tries)
            self.tries[each.run_id] = each.tries
            if before != each.tries:
                output.say((f"{who}— begun again —", DIM))
            output.say(log_line(each.line, of=who))
        sys.stdout.flush()


COMMANDS = {"logs": logs, "wait": wait}
