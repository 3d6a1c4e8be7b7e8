"""The states of a run and what it may go to: the one table that everybody asks.

SQL names its from-states; a test holds each statement against this table, a trigger made from it
refuses the rest, and the picture in the docs is printed from it.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a run stands."""

    BLOCKED = "blocked"
    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self in ENDED

    @property
    def glyph(self) -> str:
        """The sign that stands for it in lists and graphs."""
        return GLYPHS[self]


class WaitCause(StrEnum):
    """What a waiting run waits for."""

    DELAY = "delay"
    RETRY = "retry"
    SLEEP = "sleep"
    SIGNAL = "signal"
    QUESTION = "question"
    OPERATION = "operation"
    CHILDREN = "children"
    GATE = "gate"


BAD = (State.FAILED, State.CANCELLED)
"""Ends that are not good ones."""
LIVE = frozenset({State.BLOCKED, State.READY, State.RUNNING, State.WAITING})
ENDED = frozenset({State.SUCCEEDED, State.FAILED, State.SKIPPED, State.CANCELLED})

BORN = frozenset({State.BLOCKED, State.READY, State.WAITING, State.SKIPPED, State.SUCCEEDED})
"""The states in which a run may begin; a start that overlap skips is born skipped, and what a fork
takes over as it ended."""

MOVES: dict[State, frozenset[State]] = {
    State.BLOCKED: frozenset(
        {
            State.READY,
            State.RUNNING,
            State.WAITING,
            State.SUCCEEDED,
            State.SKIPPED,
            State.CANCELLED,
            State.FAILED,
        }
    ),
    State.READY: frozenset(
        {State.RUNNING, State.SUCCEEDED, State.SKIPPED, State.CANCELLED, State.FAILED}
    ),
    State.RUNNING: frozenset(
        {
            State.SUCCEEDED,
            State.FAILED,
            State.WAITING,
            State.READY,
            State.SKIPPED,
            State.CANCELLED,
        }
    ),
    State.WAITING: frozenset(
        {State.READY, State.SUCCEEDED, State.FAILED, State.SKIPPED, State.CANCELLED}
    ),
    State.FAILED: frozenset({State.READY, State.BLOCKED, State.SKIPPED, State.SUCCEEDED}),
    State.SUCCEEDED: frozenset({State.BLOCKED}),
    State.CANCELLED: frozenset({State.READY, State.BLOCKED, State.SUCCEEDED}),
    State.SKIPPED: frozenset({State.READY, State.BLOCKED, State.SUCCEEDED}),
}

GLYPHS: dict[State, str] = {
    State.BLOCKED: "◌",
    State.READY: "○",
    State.RUNNING: "●",
    State.WAITING: "◔",
    State.SUCCEEDED: "✓",
    State.FAILED: "✗",
    State.SKIPPED: "–",
    State.CANCELLED: "⊘",
}
