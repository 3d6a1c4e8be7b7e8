"""``koken logs watch wait``: a run while it goes, and its end as an exit code."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from shutil import get_terminal_size
from typing import Annotated, Any

import typer
from rich.text import Text

from koken.cli import output, words
from koken.cli.common import Common
from koken.cli.lists import checked_limit
from koken.cli.output import DIM, GAP
from koken.cli.place import with_client
from koken.cli.show import Named, log_line
from koken.client.awaiting import AsyncClient
from koken.errors import InvalidArguments, KokenError
from koken.model.duration import seconds
from koken.model.run import Run
from koken.model.states import State
from koken.views import logs as lines
from koken.views.logs import LogLine

LOOK = 0.3
"""Seconds between two looks at what goes on."""
PAGE = 1000
CLEAR = "\r\x1b[2K"
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
        output.say(output.titled(run), (words.ending(run), output.style_of(run)))
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


def watch(ctx: typer.Context, run: Named) -> int:
    """Watch a run's progress until it ends; exit 0 when it succeeded, 1 when not."""
    common: Common = ctx.obj
    return with_client(common, lambda client: watching(client, common, run))


async def watching(client: AsyncClient, common: Common, named: str) -> int:
    """Look again and again: a terminal gets one line that changes, a pipe a line a change."""
    live = sys.stdout.isatty() and not common.json
    before = ""
    run: Run[Any] = await client.get(named)
    while not run.state.ended:
        text = moment(run, datetime.now(UTC))
        if live:
            text.truncate(get_terminal_size().columns - 1)
            sys.stdout.write(CLEAR)
            output.console().print(text, end="")
            sys.stdout.flush()
        elif not common.json and (now := sign(run)) != before:
            before = now
            output.say(text)
        await asyncio.sleep(LOOK)
        run = await client.get(run.id)
    if live:
        sys.stdout.write(CLEAR)
    return say_end(common, run)


def sign(run: Run[Any]) -> str:
    """What has to change for a line of its own."""
    return f"{run.state} {run.phase} {run.attempt} {run.progress.percent} {run.progress.message}"


def moment(run: Run[Any], now: datetime) -> Text:
    """``18:02:50 ● greet 42  running on w-7  ███████░░░ 71 %  partition 5 of 7``."""
    whole = Text.assemble((words.clock(now), DIM), " ", output.titled(run))
    whole.append(words.standing(run, now), output.style_of(run))
    if run.progress.percent is not None:
        message = words.plain(run.progress.message)
        whole.append(f"{GAP}{output.bar(run.progress.percent)}{GAP}{message}".rstrip())
    return whole


def logs(
    ctx: typer.Context,
    run: Named,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run has ended.")
    ] = False,
    limit: Annotated[
        int, typer.Option(metavar="N", help="At most so many lines, the last.")
    ] = PAGE,
) -> None:
    """Print what a run has printed and logged."""
    common: Common = ctx.obj
    most = checked_limit(limit)
    if follow:
        with_client(common, lambda client: following(client, common, run, most))
        return
    whose, found = with_client(common, lambda client: last_lines(client, run, most))
    if common.json:
        output.items(found)
    elif not found:
        print(f"{whose.job} {whose.id} has printed nothing", file=sys.stderr)
    else:
        print_lines(found, common, 0)


async def last_lines(client: AsyncClient, named: str, most: int) -> tuple[Run[Any], list[LogLine]]:
    """A run, and the last of what it has printed."""
    run: Run[Any] = await client.get(named)
    return run, await lines.tail(client.link.views, run.id, limit=most)


async def following(client: AsyncClient, common: Common, named: str, limit: int) -> None:
    """The last lines, then every new one, until the run has ended and all are read."""
    run: Run[Any] = await client.get(named)
    found = await lines.tail(client.link.views, run.id, limit=limit)
    lease = print_lines(found, common, 0)
    last = found[-1].id if found else 0
    while True:
        ended = (await client.get(run.id)).state.ended
        found = await lines.lines(client.link.views, run.id, after=last, limit=PAGE)
        if found:
            lease = print_lines(found, common, lease)
            last = found[-1].id
        elif ended:
            return
        else:
            await asyncio.sleep(LOOK)


def print_lines(found: list[LogLine], common: Common, lease: int) -> int:
    """Print lines, with a mark where another attempt begins; returns the last one's lease."""
    for each in found:
        if common.json:
            output.as_json(each.to_json())
            continue
        if lease and each.lease != lease:
            output.say(("— begun again —", DIM))
        lease = each.lease
        output.say(log_line(each))
    sys.stdout.flush()
    return lease


COMMANDS = {"logs": logs, "watch": watch, "wait": wait}
