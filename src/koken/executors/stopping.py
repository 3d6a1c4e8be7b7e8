"""How a body is asked to stop, and what its answer amounts to afterwards.

A stop has a reason, and the first one counts:

    timeout    it has taken longer than it may
    cancel     somebody wants the run to end
    shutdown   its worker leaves
    silence    its worker hears nothing from the database, and the body may not run twice
    lost       the run belongs to another worker
    signal     a signal came that was not the worker's, in a process of its own

A body learns of it at its next call of the context, which raises ``Stop``: a ``BaseException``, so
that an ``except Exception`` does not swallow it. For a cancel it is a ``koken.Cancel`` as well.
"""

from __future__ import annotations

from types import TracebackType
from typing import NoReturn

from koken.executors.base import Answer, Host, Raised, Returned, Stopped, raised
from koken.executors.failures import message_of
from koken.model.outcome import Cancel, Outcome
from koken.model.runparts import Failure

GRACE = 10.0
"""Seconds between the request to stop and the force that follows."""


class Stop(BaseException):
    """Leaves a body that is to stop; ``why`` is the reason."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why)
        self.why = why


class CancelStop(Stop, Cancel):
    """A ``Stop`` that a body may catch as ``koken.Cancel``, to tidy up."""

    def __init__(self, why: str = "cancel") -> None:
        super().__init__(why)
        self.reason = "the run was cancelled"


class Going:
    """One body under way, as its executor and its context know it."""

    __slots__ = ("detail", "seen", "why")

    def __init__(self) -> None:
        self.why = ""
        """Why its executor wants it to stop; empty while it may go on."""
        self.seen = ""
        """Why it knows that it is to stop: raised into it, or told when it asked."""
        self.detail = ""

    def wanted(self, host: Host) -> str:
        """Why the body should stop now, or ``""``."""
        return self.seen or self.why or host.stop_wanted()

    def check(self, host: Host) -> None:
        """Leave the body here when it should stop."""
        why = self.wanted(host)
        if why:
            self.leave(why)

    def leave(self, why: str) -> NoReturn:
        """Raise the ``Stop`` for ``why``; every later call of the context raises it again."""
        self.seen = self.seen or why
        raise CancelStop() if why == "cancel" else Stop(why)

    def verdict(self, answer: Answer) -> Answer:
        """What ``answer`` amounts to.

        A body that ended by itself before it knew of the stop has answered, and its answer
        stands; except after a timeout, which is a promise of the job. One that knew was stopped,
        whatever it made of it.
        """
        why = self.seen or (self.why if self.why == "timeout" else "")
        if not why or isinstance(answer, Stopped):
            return answer
        return Stopped(why, self.detail or epilogue(answer))


def is_ours(frames: TracebackType) -> bool:
    """Whether a traceback begins in Koken, and not in the body."""
    return str(frames.tb_frame.f_globals.get("__name__")).startswith("koken.")


def epilogue(answer: Answer) -> str:
    """What is worth telling of a body's own answer after it was stopped."""
    match answer:
        case Returned():
            return "it returned after that; the result was thrown away"
        case Raised(failure):
            return f"it ended with {failure.type}: {failure.message}"
        case Outcome():
            return f"it ended with {type(answer).__name__}: {answer.reason}"
        case _:
            return ""


def answer_to(error: BaseException) -> Answer:
    """The answer of a body that raised ``error``, however odd; leaves out our own frames."""
    if isinstance(error, Stop):
        return Stopped(error.why)
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None and is_ours(frames):
        frames = frames.tb_next
    error.__traceback__ = frames
    try:
        return raised(error)
    except BaseException as second:
        name = type(error).__qualname__
        return Raised(Failure(type=name, message=f"<cannot be shown: {message_of(second)}>"))
