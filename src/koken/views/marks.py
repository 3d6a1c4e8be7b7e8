"""How a run or a step is marked: a glyph, a word, and a look.

A look is a name that the terminal and pictures give a colour of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from koken.model.run import Run
from koken.model.states import State, WaitCause
from koken.views.standings import Standing, standing

WAITS: dict[WaitCause, str] = {
    WaitCause.DELAY: "delayed",
    WaitCause.RETRY: "retrying",
    WaitCause.SLEEP: "sleeping",
    WaitCause.SIGNAL: "awaits a signal",
    WaitCause.QUESTION: "asks",
    WaitCause.OPERATION: "at work elsewhere",
    WaitCause.CHILDREN: "running",
    WaitCause.GATE: "held",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """Glyph, word and look."""

    glyph: str
    word: str
    look: str
    """A state's name, or one of: retry, acknowledged, cancelling, compensating, idle."""


IDLE = Mark("·", "not begun", "idle")
"""A step that has no run yet, or one that its workflow ended without."""
COMPENSATING = Mark("⟲", "compensating", "compensating")
CANCELLING = Mark(State.CANCELLED.glyph, "cancelling", "cancelling")
ACKNOWLEDGED = Mark(State.FAILED.glyph, "failed, acknowledged", "acknowledged")
"""A failure that somebody has acknowledged: nothing is to be done."""
RUNNING = Mark(State.RUNNING.glyph, "running", "running")
RETRYING = Mark("↻", WAITS[WaitCause.RETRY], "retry")
TURN = Mark(State.BLOCKED.glyph, "waits its turn", "blocked")
"""A step before which others have to end."""
LOCK = Mark(State.BLOCKED.glyph, "waits for its lock", "blocked")
"""A step that could go, if it had its lock."""
LEDGER = {
    "created": Mark("○", "created", "ready"),
    "submitted": Mark("◔", "submitted", "waiting"),
    "done": Mark(State.SUCCEEDED.glyph, "done", "succeeded"),
    "failed": Mark(State.FAILED.glyph, "failed", "failed"),
    "skipped": Mark(State.SKIPPED.glyph, "skipped", "skipped"),
    "cancelled": Mark(State.CANCELLED.glyph, "cancelled", "cancelled"),
}
"""By the state of a line in the ledger."""
LATE = Mark("◷", "late", "retry")
"""What should have happened by now."""
PAUSED = Mark("‖", "paused", "retry")
"""A queue, a schedule, a bulk that somebody holds back."""
DOING = {
    Standing.COMPENSATING: COMPENSATING,
    Standing.CANCELLING: CANCELLING,
    Standing.RETRYING: RETRYING,
}


def of(standing: Standing, *, acknowledged: bool = False) -> Mark:
    """How a run is marked that stands so."""
    if standing in DOING:
        return DOING[standing]
    if standing is Standing.FAILED and acknowledged:
        return ACKNOWLEDGED
    state = State(standing.value)
    return Mark(state.glyph, state.value, state.value)


def of_run(run: Run[Any]) -> Mark:
    """How a run is marked."""
    return of(standing(run), acknowledged=run.acknowledged_by is not None)


def tally(found: Iterable[Mark]) -> str:
    """How many stand how: ``18 succeeded, 1 failed, 1 acknowledged``."""
    counts = Counter("acknowledged" if mark is ACKNOWLEDGED else mark.word for mark in found)
    return ", ".join(f"{number:,} {word}" for word, number in counts.most_common())


def of_step(state: State | None, cause: WaitCause | None, *, over: bool, cancelling: bool) -> Mark:
    """How a step is marked; ``over``: its workflow has ended."""
    if state is None or (over and state is State.BLOCKED):
        return IDLE
    if cancelling and not state.ended:
        return CANCELLING
    if cause is WaitCause.CHILDREN:
        return RUNNING
    if cause is WaitCause.RETRY:
        return RETRYING
    return Mark(state.glyph, WAITS[cause] if cause else state.value, state.value)
