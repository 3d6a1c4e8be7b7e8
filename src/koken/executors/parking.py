"""How a body is left to wait: several waits as one, and the failures that it is left with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from koken.errors import RunCancelled, RunFailed, RunSkipped
from koken.executors.base import Answer, Parked, Undoing
from koken.model import codec
from koken.model.run import Failure, Run
from koken.model.states import State

OTHERS = 15.0
"""Seconds after which a run looks again that waits for things of several kinds at once."""
CAUSES = ("children", "signal", "question", "operation", "retry", "sleep")
"""Of several waits at once, the first of these is the one that is shown and that wakes it."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The last try of a step that failed; ``after`` is when it is tried again, None: not at all."""

    spent: int
    tries: int
    failure: Failure
    kinds: tuple[str, ...]
    after: float | None

    def dump(self) -> str:
        """As JSON text."""
        plain = {
            "spent": self.spent,
            "tries": self.tries,
            "failure": self.failure.to_json(),
            "kinds": self.kinds,
            "after": self.after,
        }
        return codec.encode(plain, name="an error")

    @classmethod
    def load(cls, text: str) -> Failed:
        """What ``dump`` gave."""
        plain = codec.decode(text)
        failure = Failure.from_json(plain["failure"])
        return cls(plain["spent"], plain["tries"], failure, tuple(plain["kinds"]), plain["after"])


def merged(answers: Sequence[Answer]) -> Answer:
    """Several answers with which a body is left at once, as one."""
    waits = [each for each in answers if isinstance(each, Parked)]
    others = [each for each in answers if not isinstance(each, Parked)]
    if others:
        return min(others, key=lambda each: isinstance(each, Undoing))  # it says the least
    if len(waits) == 1:
        return waits[0]
    main = min(waits, key=lambda each: CAUSES.index(each.cause))
    same = [each for each in waits if each.cause == main.cause]
    times = [each.seconds for each in waits if each.seconds is not None]
    if {each.cause for each in waits} - {main.cause, "operation", "retry", "sleep"}:
        times.append(OTHERS)
    return Parked(
        cause=main.cause,
        seconds=min(times, default=None),
        wait_for="\n".join(dict.fromkeys(each.wait_for for each in same if each.wait_for)),
        seen_open=main.seen_open,
        reason="; ".join(dict.fromkeys(each.reason for each in waits)),
    )


def check_success(run: Run[Any]) -> None:
    """Raise ``RunFailed``, ``RunSkipped`` or ``RunCancelled`` for a child that ended so."""
    about = f"run {run.id} of {run.job}"
    match run.state:
        case State.FAILED:
            raise RunFailed(f"{about} failed: {run.reason}", run)
        case State.SKIPPED:
            raise RunSkipped(f"{about} was skipped: {run.reason}", run)
        case State.CANCELLED:
            raise RunCancelled(f"{about} was cancelled: {run.reason}", run)


def waits_to_retry(name: str, past: Failed, seconds: float) -> Parked:
    """The wait before the next try of a step."""
    reason = f"step {name!r} failed ({past.failure.type}: {past.failure.message})"
    return Parked("retry", seconds, name, None, f"{reason}; try {past.tries + 1} follows")
