"""Where a body is carried out: what an executor is given, what it asks for, what it answers.

An executor knows no database. It gets an ``Assignment`` and the job's body, talks to its ``Host``
while the body goes, and answers once.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from koken.define.job import Job
from koken.model import codec
from koken.model.outcome import Outcome
from koken.model.run import Failure, Trigger

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The facts of one attempt at a run."""

    run_id: int
    root_id: int
    lease: int
    job: str
    workspace: str
    attempt: int
    max_attempts: int
    logical_time: datetime
    trigger: Trigger
    subject: str | None = None
    state: Any = None
    """What the program's lifespan gave; None in a process of its own."""
    args: Mapping[str, Any]
    """The arguments as plain JSON values."""
    timeout: float | None = None
    """Seconds that this attempt may take."""


@dataclass(frozen=True, slots=True)
class Returned:
    """The body returned; ``result`` is JSON text."""

    result: str


@dataclass(frozen=True, slots=True)
class Raised:
    """The body raised. ``error`` is the exception itself where it is at hand (backoff functions ask
    for it); ``kinds`` are the qualified names of its class and that class's bases."""

    failure: Failure
    kinds: tuple[str, ...] = ()
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """The body was stopped; ``why`` is one of the reasons that ``stopping`` names."""

    why: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """The infrastructure failed the body: it could not be started, or its process died unasked
    for a reason that is not its own."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Absent:
    """The program, as it is where bodies are carried out, has no such job; another worker may."""


Answer = Returned | Raised | Stopped | Broken | Absent | Outcome


class Host(Protocol):
    """What a body may ask of the worker that carries it; safe to call from any thread."""

    def log(self, level: str, stream: str, text: str) -> None:
        """Keep ``text`` (one or more lines) in the run's log; never blocks, never raises.

        ``stream`` is ``log``, ``stdout`` or ``stderr``.
        """

    def progress(self, percent: int, message: str) -> None:
        """Show how far the run is."""

    def stop_wanted(self) -> str:
        """Why the body should stop now, as in ``Stopped``; ``""`` when it may go on."""

    async def checkpoints(self) -> dict[str, str]:
        """What earlier attempts, and this one, have kept: key → JSON text. Keys of steps begin with
        ``step:``, of saved values with ``saved:``."""

    async def keep(self, key: str, value: str, *, overwrite: bool) -> str:
        """Keep JSON text under ``key`` for good, and return what now stands there.

        It is on disk when this returns. Raises ``LeaseLost`` when the run is no longer ours.
        """

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry out ``work`` on the worker's loop and wait for it; for bodies in threads."""


class Executor(Protocol):
    """A place where bodies are carried out."""

    @property
    def name(self) -> str:
        """The place: ``thread``, ``loop``, ``process``, ``command``."""

    async def carry_out(self, job: Job[..., Any], assignment: Assignment, host: Host) -> Answer:
        """Carry out the job's body and answer once; keeps the timeout of the assignment.

        Call it in a task of its own. Raises nothing but ``CancelledError``: when that task is
        cancelled from outside, the body is ended and nobody learns its answer.
        """

    async def stop(self, run_id: int, why: str) -> None:
        """Begin to stop the run's body, first gently, then with whatever force there is.

        Does not wait: ``carry_out`` answers when it has stopped. Harmless for a run that does not
        go here, and the second time.
        """

    def goes_on(self, run_id: int, lease: int) -> bool:
        """Whether the body of that lease goes on here although ``carry_out`` has answered.

        Safe to call from any thread.
        """

    async def close(self) -> None:
        """Let go of what is held for bodies to come; call it when none is under way."""


Body = Callable[..., Any]


def raised(error: BaseException) -> Answer:
    """What the engine is told when a body raised ``error``."""
    if isinstance(error, Outcome):
        return error
    if isinstance(error, BaseExceptionGroup):
        found = first_outcome(error)
        if found is not None:
            return found
    text = "".join(traceback.format_exception(error))
    failure = Failure(
        type=type(error).__qualname__,
        message=codec.clean(message_of(error)),
        traceback=codec.clean_end(text),
    )
    kinds = tuple(f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return Raised(failure, kinds, error if isinstance(error, Exception) else None)


def first_outcome(group: BaseExceptionGroup[BaseException]) -> Outcome | None:
    """The first outcome inside an exception group, as a task group raises it."""
    for error in group.exceptions:
        if isinstance(error, Outcome):
            return error
        if isinstance(error, BaseExceptionGroup):
            found = first_outcome(error)
            if found is not None:
                return found
    return None


def message_of(error: BaseException) -> str:
    """The message of an error whose own ``__str__`` may fail."""
    try:
        return str(error)
    except Exception:
        return f"<{type(error).__qualname__} whose message cannot be shown>"
