"""How a body is left to wait: several waits as one, and the failures that it is left with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from koken.errors import RunCancelled, RunFailed, RunSkipped
from koken.executors.base import Answer, Broken, Parked, Undoing
from koken.model import codec
from koken.model.run import Run
from koken.model.runparts import Failure
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


class Swallowed(RuntimeError):
    """A body went on although it was to be left with these answers."""

    def __init__(self, parks: Sequence[Answer]) -> None:
        super().__init__(
            f"the body was to be left here ({why_left(parks)}), but it caught the exception that "
            "leaves it and went on. Let BaseException pass: catch Exception"
        )


class LeftBehind(RuntimeError):
    """A body returned although a task of it was to be left with these answers."""

    def __init__(self, parks: Sequence[Answer]) -> None:
        super().__init__(
            f"the body returned while one of its tasks still waits ({why_left(parks)}); await it, "
            "and let BaseException pass, by which it is left"
        )


def why_left(parks: Sequence[Answer]) -> str:
    """Why a body is left with these answers."""
    match merged(parks):
        case Parked(reason=reason):
            return reason
        case Broken(failure):
            return f"{failure.type}: {failure.message}"
    return "what it has done is to be undone"


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
