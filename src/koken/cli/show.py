"""``koken show``: one run, all that is known of it, and what to do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from koken.cli import output, telling
from koken.cli.attempts import draw_attempts, draw_events, draw_traceback
from koken.cli.common import Common
from koken.cli.output import DIM, GAP
from koken.cli.place import with_client
from koken.cli.steplines import draw_steps, draw_undone, header
from koken.client.awaiting import AsyncClient
from koken.errors import NotFound
from koken.model.run import Run
from koken.views import clocks, events, logs, runwords, words
from koken.views.events import EventRow
from koken.views.logs import LogLine
from koken.views.runs import AttemptRow, attempts
from koken.views.steprows import StepRow
from koken.views.steps import step_id, steps, undone

LAST_ID = 2**63 - 1


def known_number(named: str) -> str:
    """What names a run. Raises ``NotFound`` for a number that no run can have."""
    if named.isdecimal() and int(named) > LAST_ID:
        raise NotFound(f"there is no run {named}")
    return named


Named = Annotated[
    str,
    typer.Argument(
        metavar="RUN", callback=known_number, help="Its number, or a job for its last run."
    ),
]
LAST_LINES = 5
TRACES = 200
"""Lines of the log that may be looked through for those that are not of a traceback."""
LEVELS = {"warning": "yellow", "error": "bold red", "critical": "bold red", "debug": DIM}


@dataclass(frozen=True, slots=True)
class Picture:
    """A run with its attempts, what people did to it, and its last log lines."""

    run: Run[Any]
    attempts: Sequence[AttemptRow]
    events: Sequence[EventRow]
    lines: Sequence[LogLine]
    steps: Sequence[StepRow]
    undone: Sequence[StepRow]

    @property
    def made_of_steps(self) -> bool:
        """Whether its steps are all that there is to it."""
        return any(not row.recorded for row in self.steps)


StepNamed = Annotated[
    str, typer.Argument(metavar="[STEP]", help="A step by its name; an item: table[0].")
]


def show(ctx: typer.Context, run: Named, step: StepNamed = "") -> None:
    """Show a run, or one of its steps: how it stands, its attempts, values and last lines."""
    common: Common = ctx.obj
    picture = with_client(common, lambda client: look(client, run, step))
    if picture is None:
        return
    if common.json:
        tried = [each.to_json() for each in picture.attempts]
        acts = [each.to_json() for each in picture.events]
        rows = [each.to_json() for each in (*picture.steps, *picture.undone)]
        plain = picture.run.to_json()
        output.as_json({**plain, "attempts": tried, "events": acts, "steps": rows})
    else:
        draw(picture, datetime.now(UTC))


async def look(client: AsyncClient, named: str, step: str) -> Picture | None:
    """Read all that ``show`` prints; None for a step of a body, of which that is said."""
    run = await speaker(client, named, step)
    if run is None:
        return None
    db = client.link.views
    tried, acts = await attempts(db, run.id), await events.of_run(db, run.id)
    last = await logs.tail(db, run.id, limit=LAST_LINES + TRACES)
    rows, undo = await steps(db, run), await undone(db, run)
    return Picture(run, tried, acts, without_traces(last, tried)[-LAST_LINES:], rows, undo)


async def speaker(client: AsyncClient, named: str, step: str) -> Run[Any] | None:
    """A run, or the run of one of its steps; None for a step of a body, of which that is said."""
    run: Run[Any] = await client.get(named)
    if not step:
        return run
    for row in await steps(client.link.views, run):
        if row.recorded and row.name == step:
            if row.child is not None:
                return await client.get(row.child.id)
            text = "is a step of its body: its lines are in the run's own log"
            print(f"{step} of {runwords.called(run)} {text}: koken logs {run.id}", file=sys.stderr)
            return None
    return await client.get(await step_id(client.link.views, run, step))


def without_traces(found: Sequence[LogLine], tried: Sequence[AttemptRow]) -> Sequence[LogLine]:
    """The lines of a log without the tracebacks, which ``show`` prints by themselves."""
    traces = {
        line.strip()
        for each in tried
        if each.error is not None
        for line in ("", *each.error.traceback.splitlines())
    }
    return [each for each in found if each.level != "error" or each.text.strip() not in traces]


def draw(picture: Picture, now: datetime) -> None:
    """Print it, the answer first."""
    run = picture.run
    if picture.made_of_steps:
        output.say(header(run, now))
        draw_steps(picture.steps, run)
        draw_undone(picture.undone)
    else:
        output.say(output.titled(run), (runwords.standing(run, now), output.style_of(run)))
        output.say((" · ".join(facts(run, now)), DIM))
        if picture.attempts:
            output.say()
            draw_attempts(picture.attempts, picture.events, run)
        draw_traceback(run, picture.attempts)
        if picture.steps or picture.undone:
            output.say()
            draw_steps(picture.steps, run)
            draw_undone(picture.undone)
        output.say()
    draw_events(picture.events)
    if not picture.made_of_steps:
        draw_values(run)
    draw_lines(picture)
    found = telling.ways(run)
    if found:
        output.say("Ways on: ", " · ".join(f"koken {way}" for way in found))


def facts(run: Run[Any], now: datetime) -> list[str]:
    """The small print: why it exists, where it runs, which version of its job."""
    part_of = f"part of run {run.parent_id}"
    found = [part_of if run.parent_id is not None else runwords.started_by(run)]
    found += [f"queue {run.queue}", f"version {run.version}"]
    if run.origin is not None:
        found.append(f"{run.origin.verb} of run {run.origin.id}")
    if run.priority:
        found.append(f"priority {run.priority}")
    if run.infra_attempt:
        found.append(f"{words.counted(run.infra_attempt, 'worker')} lost under it")
    for label, value in (("subject", run.subject), ("key", run.idempotency_key)):
        if value:
            found.append(f"{label} {words.plain(value)}")
    found.append(f"created {clocks.ago(run.created_at, now)}")
    if run.started_at is not None and run.ended_at is not None:
        found.append(f"took {runwords.took(run, now)}")
    return found


def draw_values(run: Run[Any]) -> None:
    """Arguments, result, progress."""
    rows = [("args", words.arguments(run.args) or "none")]
    if run.state == "succeeded":
        rows.append(("result", words.plain(words.dump(run.result))))
    if run.progress.percent is not None:
        message = words.plain(run.progress.message)
        rows.append(("progress", f"{output.bar(run.progress.percent)}{GAP}{message}".rstrip()))
    for label, value in rows:
        output.say((f"{label:<10}", DIM), value)


def draw_lines(picture: Picture) -> None:
    """The last lines of the log."""
    for place, each in enumerate(picture.lines):
        output.say(("log       " if place == 0 else " " * 10, DIM), log_line(each))
    if len(picture.lines) == LAST_LINES:
        output.say((f"{' ' * 10}all of it: koken logs {picture.run.id}", DIM))


def log_line(each: LogLine, speaker: str = "", of: str = "") -> Text:
    """``18:02:11 WARNING no arrival time``; ``speaker`` is whose line it is, where many speak.

    ``of`` is set before the text: ``18:02:11 table[3] | no arrival time``.
    """
    level = f"{each.level.upper()} " if each.level not in ("info", "debug") else ""
    said = (level + words.plain(each.text), LEVELS.get(each.level, ""))
    who = f" │ {speaker}  " if speaker else f" {of}"
    return Text.assemble((telling.clock(each.at) + who, DIM), said)


COMMANDS = {"show": show}
