"""Where runs stand, in a word: the state, or what a run does where that tells more.

Rows, strips, numbers by state and ``state:`` in queries mean the same by these words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from koken.model.run import Run
from koken.model.states import LIVE, State


class Standing(StrEnum):
    """A state, or what a run does that has not ended; in the order in which they are told."""

    BLOCKED = "blocked"
    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    RETRYING = "retrying"
    """It waits for its next attempt."""
    CANCELLING = "cancelling"
    COMPENSATING = "compensating"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


# As `Run.phase`, else the state.
STANDING = """case when r.finished_at is not null then r.state
    when r.settle is not null and r.wait_cause is not null and r.wait_for = 'undo'
    then 'compensating'
    when r.cancel_requested_at is not null then 'cancelling'
    when r.wait_cause = 'children' then 'running'
    when r.wait_cause = 'retry' then 'retrying'
    else r.state end"""
GOING: Mapping[Standing, Collection[State]] = {
    Standing.BLOCKED: (State.BLOCKED,),
    Standing.READY: (State.READY,),
    Standing.RUNNING: (State.RUNNING, State.WAITING),
    Standing.WAITING: (State.WAITING,),
    Standing.RETRYING: (State.WAITING,),
    Standing.CANCELLING: sorted(LIVE),
    Standing.COMPENSATING: (State.WAITING,),
}
"""Of runs that have not ended: the states in which they may stand so."""
OPEN = "r.state = 'failed' and r.acknowledged_at is null and r.parent_id is null"
"""A failure that nobody has acknowledged."""
FAILURES = {
    "open": OPEN,
    "acknowledged": "r.state = 'failed' and r.acknowledged_at is not null",
}
"""Failures apart: those that need a hand, and those that somebody has acknowledged."""
GROUPS: Mapping[str, Collection[Standing]] = {
    "live": tuple(GOING),
    "ended": tuple(each for each in Standing if each not in GOING),
}
"""Words for several: all that has not ended, and all that has."""
WORDS = (*Standing, *FAILURES, *GROUPS)
"""What may be asked for."""


def standing(run: Run[object]) -> Standing:
    """Where a run stands."""
    return Standing(run.phase or run.state.value)


def condition(words: Collection[str]) -> str:
    """That a run, as ``r``, stands as one of these words says."""
    wanted = {each for word in words for each in GROUPS.get(word, (word,))}
    found = [text for word, text in FAILURES.items() if word in wanted]
    going = {state: states for state, states in GOING.items() if state in wanted}
    whole = len(going) == len(GOING)
    ended = [each for each in Standing if each in wanted and each not in GOING]
    if whole or ended:
        found.append(f"r.state in ({quoted([*(LIVE if whole else ()), *ended])})")
    if going and not whole:
        states = {state for each in going.values() for state in each}
        found.append(f"r.state in ({quoted(states)}) and {STANDING} in ({quoted(going)})")
    return f"({' or '.join(found)})"


def quoted(words: Collection[str]) -> str:
    """Words as texts of SQL, in an order of their own."""
    return ", ".join(f"'{word}'" for word in sorted(words))
