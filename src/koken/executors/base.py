"""Where a body is carried out: what an executor is given, what it asks for, what it answers.

An executor knows no database. It gets an ``Assignment`` and the job's body, talks to its ``Host``
while the body goes, and answers once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from koken.define.job import Job
from koken.errors import DeclarationError
from koken.executors.failures import failure_of, final, kinds_of
from koken.model.durable import Child, Entry, Met, Past, Waiting, Wanted
from koken.model.outcome import Outcome
from koken.model.runparts import Failure, Trigger

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
    step: str | None = None
    """The step of the workflow ``job`` that is carried out; None for the job's own body."""
    undo: str | None = None
    """``*``: nothing new is begun, but it is found what is to be undone. A name: what undoes that
    step is carried out, or its operation, which is in flight, is cancelled."""
    schema: str = "koken"
    """The schema in which the engine's tables stand."""

    def key(self, *parts: object) -> str:
        """A text that is the same in every attempt at the run; ``parts`` tell several apart."""
        whole = [self.workspace, self.job, self.run_id, self.logical_time.isoformat()]
        text = json.dumps([*whole, *(str(part) for part in parts)])
        return hashlib.sha256(text.encode()).hexdigest()[:32]


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


@dataclass(frozen=True, slots=True)
class Parked:
    """The body was left until something has happened; it is entered again from the top then.

    ``cause`` is the wait's cause as in ``WaitCause``. ``seconds`` is when it wakes in any case;
    None: never by itself. ``wait_for`` names what it waits for: signals, questions or operations,
    one a line. ``seen_open`` is how many children were open when it looked: it wakes when there
    are fewer.
    """

    cause: str
    seconds: float | None = None
    wait_for: str = ""
    seen_open: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Undoing:
    """What is to be undone, in the order in which it was completed, and then what is in flight
    elsewhere: the answer to ``undo="*"``."""

    names: tuple[str, ...] = ()


Answer = Returned | Raised | Stopped | Broken | Absent | Parked | Undoing | Outcome


class Host(Protocol):
    """What a body may ask of the worker that carries it; safe to call from any thread.

    What is awaited may raise ``DatabaseUnreachable``: it is not the body's error.
    """

    def log(self, level: str, stream: str, text: str) -> None:
        """Keep ``text`` (one or more lines) in the run's log; never blocks, never raises.

        ``stream`` is ``log``, ``stdout`` or ``stderr``.
        """

    def progress(self, percent: int, message: str) -> None:
        """Show how far the run is."""

    def used(self, peak_bytes: int, cpu_seconds: float) -> None:
        """Keep what the processes of the body took: memory at its worst, time of the processor."""

    def stop_wanted(self) -> str:
        """Why the body should stop now, as in ``Stopped``; ``""`` when it may go on."""

    async def checkpoints(self) -> Past:
        """What earlier attempts, and this one, have kept. What it is of says the key's beginning:
        ``step:``, ``saved:`` and the others in ``model.durable``."""

    async def keep(
        self,
        key: str,
        value: str,
        *,
        overwrite: bool = False,
        ordinal: int | None = None,
        undo: bool = False,
        unwind: bool = False,
        entries: Sequence[Entry] = (),
    ) -> str:
        """Keep JSON text under ``key`` for good, and return what now stands there.

        ``undo``: something undoes it. ``unwind``: there is something to clean up if the run does
        not end well. ``entries`` are lines of the ledger. It is on disk when this returns.
        Raises ``LeaseLost`` when the run is no longer ours.
        """

    def unwinds(self) -> None:
        """Remember that the run has something to clean up if it does not end well."""

    async def wait(self, waiting: Waiting) -> Met:
        """Record a wait, or look again at one that is recorded. Raises ``LeaseLost``."""

    async def child(self, wanted: Wanted) -> Child:
        """Start a child run, or find it.

        Raises what a start raises, and ``LeaseLost``.
        """

    async def open_children(self, ids: Sequence[int]) -> tuple[list[int], int]:
        """Which of these runs have ended, and how many children of the body's run have not."""

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


class Parting(BaseException):
    """Leaves a body with an answer that is not its own: it waits, or is to be undone."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


class Remembered(Exception):
    """An error of an earlier pass through the body, whose own type is not at hand any more."""

    def __init__(self, failure: Failure, kinds: tuple[str, ...]) -> None:
        super().__init__(f"{failure.type}: {failure.message}".rstrip(": "))
        self.failure = failure
        self.kinds = kinds


def misplaced(job: Job[..., Any], place: str) -> Answer:
    """The answer for a body of a kind that is not carried out at this place."""
    kind = type(job.body).__name__
    message = f"the body of job {job.name!r} is a {kind}, which a {place} cannot carry out"
    return raised(DeclarationError(message))


def raised(error: BaseException) -> Answer:
    """What the engine is told when a body raised ``error``."""
    if isinstance(error, Outcome):
        return error
    if isinstance(error, Parting):
        return error.answer
    if isinstance(error, Remembered):
        return Raised(error.failure, final(error, error.kinds), error)
    if isinstance(error, BaseExceptionGroup):
        found = first(error, Outcome) or parting_of(error)
        if found is not None:
            return raised(found)
    failure = failure_of(error)
    return Raised(failure, kinds_of(error), error if isinstance(error, Exception) else None)


def parting_of(group: BaseExceptionGroup[BaseException]) -> Parting | None:
    """What a task group raises when the body is left inside it; an error beside it counts more."""
    return None if first(group, Exception) else first(group, Parting)


E = TypeVar("E", bound=BaseException)


def first(group: BaseExceptionGroup[BaseException], kind: type[E]) -> E | None:
    """The first error of that kind inside an exception group, as a task group raises it."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            found = first(error, kind)
            if found is not None:
                return found
        elif isinstance(error, kind):
            return error
    return None
