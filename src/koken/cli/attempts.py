"""The attempts of a run as a table, with the acts of people between its lives; its traceback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from koken.cli import output
from koken.cli.output import DIM, Column
from koken.model.run import Run
from koken.model.states import State
from koken.views import clocks, words
from koken.views.events import EventRow
from koken.views.runs import AttemptRow

FIRST, LAST = 3, 10
"""Attempts that are shown of many."""
TRACED = 15
"""Lines of a traceback, its last."""
OUTCOMES = {
    "succeeded": ("✓", "green"),
    "running": ("●", "blue"),
    "retry": ("↻", "yellow"),
    "failed": (State.FAILED.glyph, "bold red"),
    "lost": (State.FAILED.glyph, "yellow"),
    "snooze": ("◔", "magenta"),
    "skipped": ("–", "bright_black"),
    "cancelled": ("⊘", "bright_black"),
    "returned": ("○", ""),
}
COLUMNS = (
    Column("ATTEMPT"),
    Column("OUTCOME"),
    Column("TOOK"),
    Column("WORKER", gives=True),
    Column("ERROR", gives=True),
)


def draw_attempts(found: Sequence[AttemptRow], events: Sequence[EventRow], run: Run[Any]) -> None:
    """The table of attempts: the first and the last of many, a line between two lives."""
    retries = [each for each in events if each.verb == "retry"]
    left_out = range(FIRST, len(found) - LAST) if len(found) > FIRST + LAST + 1 else range(0)
    rows: list[Sequence[Text | str] | Text] = []
    for place, each in enumerate(found):
        before = [event for event in retries if each.started_at and event.at <= each.started_at]
        retries = retries[len(before) :]
        if place and before:
            rows.extend(Text(f"— {words.plain(act(event))} —", DIM) for event in before)
        if place in left_out:
            if place == left_out.start:
                rows.append(Text(f"… {len(left_out):,} more", DIM))
            continue
        rows.append(cells(each, run))
    rows.extend(Text(f"— {words.plain(act(event))} —", DIM) for event in retries)
    output.table(COLUMNS, rows)


def act(event: EventRow) -> str:
    """``retry by mira: fixed``."""
    reason = f": {event.reason}" if event.reason else ""
    return f"{event.verb} by {event.by}{reason}"


def cells(each: AttemptRow, run: Run[Any]) -> tuple[Text | str, ...]:
    """One attempt."""
    return (
        f"{each.attempt}/{run.max_attempts}",
        outcome(each.outcome),
        clocks.length_of(each.started_at, each.ended_at),
        each.worker or "–",
        "–" if each.error is None else error(each),
    )


def outcome(name: str) -> Text:
    """What an attempt came to, in its colour."""
    glyph, style = OUTCOMES.get(name, ("·", ""))
    return Text(f"{glyph} {name}", style)


def error(attempt: AttemptRow) -> str:
    """An attempt's error in a line."""
    assert attempt.error is not None
    return f"{attempt.error.type}: {attempt.error.message}".strip(": ")


def draw_events(events: Sequence[EventRow]) -> None:
    """What people did to the run."""
    for place, each in enumerate(events):
        label = "events    " if place == 0 else " " * 10
        at = f"{each.at.astimezone():%Y-%m-%d %H:%M:%S} "
        output.say((label, DIM), (at, DIM), words.plain(act(each)))


def draw_traceback(run: Run[Any], found: Sequence[AttemptRow]) -> None:
    """The last error's traceback, unless all has turned out well."""
    errors = [each.error for each in found if each.error is not None and each.error.traceback]
    last = run.error if run.error is not None and run.error.traceback else None
    told = last or (errors[-1] if errors else None)
    if told is None or run.state == "succeeded":
        return
    lines = told.traceback.rstrip().splitlines()
    output.say()
    if len(lines) > TRACED:
        output.say((f"… {words.counted(len(lines) - TRACED, 'line')} above", DIM))
    for line in lines[-TRACED:]:
        output.say((words.plain(line), DIM))
