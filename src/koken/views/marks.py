"""How a run or a step is marked: a glyph, a word, and a look.

A look is a name that the terminal and pictures give a colour of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from koken.model.run import Run
from koken.model.states import State, WaitCause

WAITS: dict[WaitCause, str] = {
    WaitCause.DELAY: "delayed",
    WaitCause.RETRY: "to be retried",
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
RUNNING = Mark(State.RUNNING.glyph, "running", "running")


def of_run(run: Run[Any]) -> Mark:
    """How a run is marked; its phase goes before its state."""
    if run.phase is not None:
        return {"compensating": COMPENSATING, "cancelling": CANCELLING}.get(run.phase, RUNNING)
    if run.wait is not None and run.wait.cause is WaitCause.RETRY:
        return Mark("↻", run.state.value, "retry")
    if run.state is State.FAILED and run.acknowledged_by is not None:
        return Mark(run.state.glyph, run.state.value, "acknowledged")
    return Mark(run.state.glyph, run.state.value, run.state.value)


def of_step(state: State | None, cause: WaitCause | None, *, over: bool, cancelling: bool) -> Mark:
    """How a step is marked; ``over``: its workflow has ended."""
    if state is None or (over and state is State.BLOCKED):
        return IDLE
    if cancelling and not state.ended:
        return CANCELLING
    if cause is WaitCause.CHILDREN:
        return RUNNING
    if cause is WaitCause.RETRY:
        return Mark("↻", WAITS[cause], "retry")
    return Mark(state.glyph, WAITS[cause] if cause else state.value, state.value)
