"""``koken why``: what a run waits for, who stands in its way, and the ways on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from shutil import get_terminal_size
from typing import Any

import typer
from rich.text import Text

from koken.cli import output, telling
from koken.cli.common import Common
from koken.cli.output import DIM, GAP
from koken.cli.place import with_client
from koken.cli.show import Named
from koken.model.run import Run
from koken.model.states import State
from koken.views import clocks, runwords, words
from koken.views.cause import Cause
from koken.views.steprows import StepRow, going
from koken.views.why import Why

SAID = ("ended", "retry", "running", "children")
"""Causes that the first line tells in full."""
WAYS = 2
"""Failed steps for which ways on are told."""


def why(ctx: typer.Context, run: Named) -> None:
    """Say why a run stands as it does: what it waits for, who stands in its way."""
    common: Common = ctx.obj
    found = with_client(common, lambda client: client.why(run))
    if common.json:
        output.as_json(found.to_json())
        return
    now = datetime.now(UTC)
    about = [cause for cause in found.causes if cause.step is not None or cause.cause == "more"]
    output.say(first_line(found, now))
    for cause in found.causes:
        if cause not in about and cause.cause not in SAID:
            output.say(GAP, words.plain(cause.text), *times(cause, now))
    draw_steps(about, now)
    ways = ways_on(found)
    if ways:
        output.say("Ways on: ", " · ".join(ways))


def times(cause: Cause, now: datetime) -> list[tuple[str, str]]:
    """Since when, and until when."""
    if cause.cause == "needs":
        return [(then(cause), "")]
    found = [clocks.lasted(cause, now)] if cause.since else []
    found += [clocks.by_then(cause.cause, cause.until, now)] if cause.until else []
    return [("".join(f", {each}" for each in found), DIM)]


def first_line(found: Why, now: datetime) -> Text:
    """How the run stands; of one that failed by its steps since when, and by which."""
    run = found.run
    failed = failures(found)
    if not failed or run.state is not State.FAILED:
        standing = runwords.standing(run, now, going(found.steps))
        return Text.assemble(output.titled(run), (standing, output.style_of(run)))
    since = min((row.ended_at for row in failed if row.ended_at), default=run.ended_at)
    what = f"{len(failed):,} steps failed"
    if len(failed) == 1:
        (row,) = failed
        tried = f"{row.attempt} of {words.counted(row.max_attempts, 'attempt')} used"
        what = f"step {words.plain(row.name)} failed, {tried}"
    at = "stands"
    if since is not None:
        length = clocks.roughly((now - since).total_seconds())
        at = f"has stood since {since.astimezone():%H:%M} ({length})"
    return Text.assemble((runwords.called(run), "bold"), (f" {at}: {what}.", output.style_of(run)))


def failures(found: Why) -> list[StepRow]:
    """The steps that failed, of those that are runs."""
    return [row for row in found.steps if row.state is State.FAILED and not row.recorded]


def draw_steps(causes: Sequence[Cause], now: datetime) -> None:
    """What is to be said of each step; short ones share a line."""
    width = max((Text(words.plain(cause.step or "")).cell_len for cause in causes), default=0)
    room = get_terminal_size((80, 24)).columns
    waiting: Text | None = None
    for cause in causes:
        line = step_line(cause, width, room, now)
        if waiting is not None and (both := beside(waiting, line, cause, room)) is not None:
            output.say(both)
            waiting = None
            continue
        if waiting is not None:
            output.say(waiting)
        waiting = line if short(cause) else None
        if waiting is None:
            output.say(line)
    if waiting is not None:
        output.say(waiting)


def short(cause: Cause) -> bool:
    """Whether a line has room for another."""
    return cause.cause == "needs" and cause.until is None


def beside(one: Text, other: Text, cause: Cause, room: int) -> Text | None:
    """Two lines as one, where both are short."""
    if not short(cause) or one.cell_len > room // 2 - 2 or other.cell_len > room // 2:
        return None
    return Text.assemble(one, " " * (room // 2 - one.cell_len - 2), other)


def step_line(cause: Cause, width: int, room: int, now: datetime) -> Text:
    """``crunch      OSError: …      w-7, 02:41:07``."""
    name = words.plain(cause.step or "")
    whole = Text.assemble(GAP, (name, "bold"))
    whole.append(" " * (width - whole.cell_len + 4) if name else "… ")
    failed = cause.cause == "step_failed"
    whole.append(words.plain(cause.text), output.STYLES["failed"] if failed else "")
    if cause.cause == "needs":
        whole.append(then(cause))
    elif cause.until is not None and cause.cause not in clocks.GIVES_UP:
        whole.append(f" until {telling.time_of(cause.until)}")
    if cause.wait_for and cause.cause in ("signal", "operation"):
        whole.append(f": {words.plain(cause.wait_for)}")
    if cause.until is not None and cause.cause in clocks.GIVES_UP:
        whole.append(f" ({clocks.by_then(cause.cause, cause.until, now)})", DIM)
    if failed:
        at = telling.clock(cause.since) if cause.since else ""
        told = ", ".join(part for part in (cause.worker or "", at) if part)
        space = max(room - whole.cell_len - len(told), 2)
        whole.append(" " * space + told if told else "", DIM)
    return whole


def then(cause: Cause) -> str:
    """``; then not before 04:30 (gate 30 4 * * *)``."""
    if cause.until is None:
        return ""
    gate = f" ({words.plain(cause.wait_for)})" if cause.wait_for else ""
    return f"; then not before {telling.time_of(cause.until)}{gate}"


def ways_on(found: Why) -> list[str]:
    """The commands that are legal now, the safest first."""
    run: Run[Any] = found.run
    failed = failures(found)
    if failed and run.state is State.FAILED and run.step is None:
        ways = [
            f"retry {run.id} --from {failed[0].name}" if len(failed) == 1 else f"retry {run.id}"
        ]
        for row in failed[:WAYS]:
            ways += [f"skip {run.id} {row.name}", f"resolve {run.id} {row.name}"]
        return [words.plain(way) for way in ways]
    ways = [f"koken {way}" for way in telling.ways(run) if not way.startswith("why")]
    for cause in found.causes:
        if cause.cause == "question" and cause.step is None:
            ways.insert(0, f"koken answer {run.id} VALUE")
        if cause.cause == "signal" and cause.step is None and cause.wait_for:
            name = words.plain(cause.wait_for.splitlines()[0])
            ways.insert(0, f"koken signal {run.id} {name} VALUE")
    return ways


COMMANDS = {"why": why}
