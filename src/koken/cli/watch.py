"""``koken watch``: a run while it goes, and its steps as they move."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from shutil import get_terminal_size
from typing import Any

import typer
from rich.text import Text

from koken.cli import output, telling
from koken.cli.common import Common
from koken.cli.follow import LOOK, say_end
from koken.cli.output import DIM, GAP
from koken.cli.place import with_client
from koken.cli.show import Named
from koken.cli.steplines import counts, said
from koken.client.awaiting import AsyncClient
from koken.model.run import Run
from koken.model.states import State
from koken.views import runwords, words
from koken.views.steprows import StepRow, going
from koken.views.steps import steps

CLEAR = "\r\x1b[2K"
SCREEN = 30
"""Steps that are told one by one at a look."""


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
        if await steps(client.link.views, run):
            return await watching_steps(client, common, run, live=live)
        text = moment(run, datetime.now(UTC))
        if live:
            stay(text)
        elif not common.json and (now := sign(run)) != before:
            before = now
            output.say(text)
        await asyncio.sleep(LOOK)
        run = await client.get(run.id)
    if live:
        sys.stdout.write(CLEAR)
    return say_end(common, run)


async def watching_steps(client: AsyncClient, common: Common, run: Run[Any], *, live: bool) -> int:
    """A line for each step that moves; a terminal has one below them that says how far all are."""
    known: dict[tuple[str, int | None], str] = {}
    first = True
    while True:
        begun = time.monotonic()
        run = await client.get(run.id)
        found = await steps(client.link.views, run)
        moved = [row for row in found if known.get(called(row)) != step_sign(row)]
        known |= {called(row): step_sign(row) for row in moved}
        told = [row for row in moved if told_at_once(row)] if first else moved
        if live:
            sys.stdout.write(CLEAR)
        if first and not common.json and not run.state.ended:
            tell_standing(run, found, datetime.now(UTC))
        first = False
        if not common.json:
            tell_steps(told)
        if run.state.ended:
            return say_end(common, run)
        if live:
            stay(Text.assemble(moment(run, datetime.now(UTC)), GAP, counts(found)))
        await asyncio.sleep(max(LOOK, 3 * (time.monotonic() - begun)))


def called(row: StepRow) -> tuple[str, int | None]:
    """What tells a step from the others: a body may start several runs of one job."""
    return row.name, row.run_id if row.recorded else None


def tell_standing(run: Run[Any], found: Sequence[StepRow], now: datetime) -> None:
    """How the run stands, and until when steps of it are held that have not begun."""
    standing = runwords.standing(run, now, going(found))
    output.say(output.titled(run), (standing, output.style_of(run)))
    for row in found:
        if row.state is State.BLOCKED and row.held_until is not None:
            gate = f" ({row.gate})" if row.gate else ""
            until = f"held until {telling.time_of(row.held_until)}{gate}"
            output.say((f"{GAP}{words.plain(row.name)}  {until}", DIM))


def step_sign(row: StepRow) -> str:
    """What has to change for a line of its own."""
    return f"{row.mark.word} {row.attempt} {row.percent} {row.message}"


def told_at_once(row: StepRow) -> bool:
    """Whether a step is told of at the first look: what is done, or not begun, is old news."""
    return row.state not in (None, State.BLOCKED, State.SUCCEEDED, State.SKIPPED)


def tell_steps(moved: list[StepRow]) -> None:
    """A line for each step that moved, up to a screen full."""
    for row in moved[:SCREEN]:
        output.say(step_moment(row, datetime.now(UTC)))
    if len(moved) > SCREEN:
        output.say((f"… {len(moved) - SCREEN:,} more steps moved: ", DIM), counts(moved[SCREEN:]))


def step_moment(row: StepRow, now: datetime) -> Text:
    """``02:50:02 ● crunch  running on w-7  ███████░░░ 71 %  partition 5 of 7``."""
    mark = row.mark
    whole = Text.assemble(
        (telling.clock(row.ended_at or now), DIM),
        (f" {mark.glyph} ", output.STYLES[mark.look]),
        (words.plain(row.name), "bold"),
        GAP,
    )
    told = said(row)
    if row.state is not None and row.state.ended and not told.plain.startswith(mark.word):
        whole.append(f"{mark.word}{GAP}", output.STYLES[mark.look])
    whole.append_text(told)
    whole.rstrip()
    return whole


def stay(text: Text) -> None:
    """Show a line of a terminal that the next one takes the place of."""
    text.truncate(get_terminal_size().columns - 1)
    sys.stdout.write(CLEAR)
    output.console().print(text, end="")
    sys.stdout.flush()


def sign(run: Run[Any]) -> str:
    """What has to change for a line of its own."""
    return f"{run.state} {run.phase} {run.attempt} {run.progress.percent} {run.progress.message}"


def moment(run: Run[Any], now: datetime) -> Text:
    """``18:02:50 ● greet 42  running on w-7  ███████░░░ 71 %  partition 5 of 7``."""
    whole = Text.assemble((telling.clock(now), DIM), " ", output.titled(run))
    whole.append(runwords.standing(run, now), output.style_of(run))
    if run.progress.percent is not None:
        message = words.plain(run.progress.message)
        whole.append(f"{GAP}{output.bar(run.progress.percent)}{GAP}{message}".rstrip())
    return whole


COMMANDS = {"watch": watch}
