"""How a run ends whose children are through, and what an executor is to carry out otherwise."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from koken.define.job import Job
from koken.engine import parts
from koken.engine.claim import Claimed
from koken.engine.finish import SPENDS_NOTHING, Ending
from koken.engine.parts import Children, Moved
from koken.model import codec
from koken.model.runparts import Failure
from koken.model.states import State, WaitCause
from koken.runtime import verdict
from koken.store.database import Database

PLAIN = ("", "Fail", "Cancel", "StepFailed", "ItemsFailed")
"""Types of errors that tell people nothing beside the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry:
    """What an executor is to carry out."""

    job: Job[..., Any]
    args: Mapping[str, Any] = field(default_factory=dict)
    step: str | None = None
    undo: str | None = None
    of: int | None = None
    """The run whose checkpoints the body sees; None: its own."""
    then: Ending | None = None
    """How its run ends, once it is known what is to be undone; the body only says what."""


Next = Carry | Ending | Moved
"""Carry out a body; end or park; or it was parked by its own statement."""


async def moved(run: Claimed, work: Awaitable[Moved]) -> Next:
    """What a parent's own statement came to; somebody may want it cancelled meanwhile."""
    found = await work
    if found.state is None:
        return verdict.ended(run, State.CANCELLED, Failure(type="Cancel", message=""))
    return found


async def settled(db: Database, run: Claimed, carry: Carry | None = None) -> Next:
    """A run whose end is decided, and whose children are through.

    ``carry``: its body, which says what it has to undo, where it has one.
    """
    children = await parts.children_of(db, run.id)
    if children.open:
        await parts.stop_children(db, [run.id], "the run is to end")
        return wait_for_children(run)
    state, failure = outcome(run, children)
    if carry is not None and run.unwind and state in (State.FAILED, State.CANCELLED):
        return replace(carry, undo="*", then=verdict.ended(run, state, failure))
    if state is State.SUCCEEDED:
        return Ending.of(run, state)
    return verdict.ended(run, state, failure)


def wait_for_children(run: Claimed) -> Ending:
    """Park until no child is open."""
    return Ending.of(
        run,
        State.WAITING,
        "parked",
        SPENDS_NOTHING,
        wait_cause=WaitCause.CHILDREN,
        delay=None,
        wake_below=0,
        part=True,
    )


def outcome(run: Claimed, children: Children) -> tuple[State, Failure]:
    """How a run ends by what its children have come to, and why."""
    own = parts.failure(children.own_error)
    state: State
    if run.settle in (State.FAILED, State.CANCELLED, State.SKIPPED):
        state, failure = run.settle, own or Failure(type="Cancel", message="")
    elif run.cancelling:
        state, failure = State.CANCELLED, own or Failure(type="Cancel", message="")
    elif children.failed or children.cancelled:
        said = told(children)
        state, failure = State.FAILED, Failure(type="StepFailed", message=said)
    else:
        state, failure = State.SUCCEEDED, Failure(type="", message="")
    return state, replace(failure, open_undos=tuple(children.undo_failed))


def told(children: Children) -> str:
    """The first failure among children, in a line."""
    error = children.error
    if error is None:
        return f"{children.first_bad} was cancelled"
    kind = "" if error.type in PLAIN else f"{error.type}: "
    return f"step {children.first_bad}: {kind}{error.message}"


def words(state: State) -> str:
    """How another run ended."""
    return {State.FAILED: "failed", State.CANCELLED: "was cancelled"}.get(state, "was skipped")


def whole(run: Claimed, job: Job[..., Any]) -> Carry:
    """The body of a job's own run."""
    return Carry(job=job, args=codec.decode(run.args) if run.args != "{}" else {})
