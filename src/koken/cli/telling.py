"""What only the terminal tells: times of its own clock, how a run ended, the commands to go on."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from koken.model.run import Run
from koken.model.states import State
from koken.views import clocks, runwords, words

STEPWISE = {"skip": "", "resolve": "", "fork": "--from "}
"""Commands that name a step, and what stands before it."""


def clock(instant: datetime) -> str:
    """The time of day on this machine's clock: ``18:02:50``."""
    return f"{instant.astimezone():%H:%M:%S}"


def time_of(instant: datetime) -> str:
    """The time of day, with seconds where they matter: ``04:30``."""
    local = instant.astimezone()
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def watch_clock(length: float | None) -> str:
    """A length as a clock shows it: ``0:12``, ``3:58:10``; ``–`` for none."""
    if length is None:
        return "–"
    minutes, seconds = divmod(int(length), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def ending(run: Run[Any]) -> str:
    """How a run ended, for whoever waited: ``succeeded in 0.9 s → 1256``."""
    if run.state is State.SUCCEEDED:
        result = "" if run.result is None else f" → {words.plain(words.dump(run.result))}"
        return f"succeeded in {clocks.length_of(runwords.begun(run), run.ended_at)}{result}"
    if run.state is State.FAILED:
        attempt = runwords.tried(run)
        return f"failed{', ' if attempt else ''}{attempt}: {words.plain(run.reason)}"
    by = words.plain(run.cancelled_by or "")
    told = f"{runwords.word(run)} by {by}" if by else runwords.word(run)
    return f"{told}: {why}" if (why := runwords.why(run)) else told


def asked(run: Run[Any]) -> str:
    """What was asked of a run that has not ended yet, and of whom."""
    if run.state is State.RUNNING:
        return f"asked to stop on {run.worker}"
    if run.children is not None and run.children.going:
        going = run.children.going
        return f"asked to end; {going:,} of its runs {'goes' if going == 1 else 'go'}"
    return "asked to end; a worker cleans up after it"


def ways(run: Run[Any]) -> list[str]:
    """The commands that are legal now, the safest first."""
    looks = () if run.state.ended else ("why", "watch")
    return [way(run, verb) for verb in (*looks, *run.actions)]


def way(run: Run[Any], verb: str) -> str:
    """A command on a run; what is done with a step names its workflow and the step."""
    if verb not in STEPWISE:
        return f"{verb} {run.id}"
    step = "STEP" if run.step is None or run.is_workflow else words.plain(run.step)
    return f"{verb} {run.id if step == 'STEP' else run.parent_id} {STEPWISE[verb]}{step}"
