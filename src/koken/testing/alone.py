"""A body alone: carried out here and now, without a database or a worker."""

from __future__ import annotations

import asyncio
import contextvars
import re
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar, overload

from typing_extensions import override

from koken.define.function import Function
from koken.define.job import Job
from koken.define.steps import Step
from koken.errors import InvalidArguments
from koken.executors.base import Answer, Assignment, Parked, Parting
from koken.executors.carrying import Carrying
from koken.executors.context import AsyncRunContext, RunContext
from koken.executors.stopping import Going
from koken.executors.targets import Item
from koken.model import codec
from koken.model.durable import Child, Entry, Kept, Met, Past, Waiting, Wanted
from koken.model.outcome import Cancel, Outcome, Skip
from koken.model.runparts import Failure, Trigger, TriggerKind
from koken.model.states import State
from koken.testing.ended import WORKSPACE, ended_run, never

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
PLACE = re.compile(r"\{([A-Za-z_][\w.]*)\}")
MOST_PASSES = 100_000
ENDS: Mapping[type[BaseException], State] = {Skip: State.SKIPPED, Cancel: State.CANCELLED}


@overload
def call(job: Job[P, R] | Step[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...


@overload
def call(
    job: Job[..., R] | Step[..., R],
    /,
    *args: Any,
    signals: Mapping[str, Any],
    answers: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> R: ...


@overload
def call(
    job: Job[..., R] | Step[..., R],
    /,
    *args: Any,
    answers: Mapping[str, Any],
    **kwargs: Any,
) -> R: ...


def call(
    job: Any,
    /,
    *args: Any,
    signals: Mapping[str, Any] | None = None,
    answers: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Carry out the body of ``job``, a job or a step of a workflow, once, here and now.

    Returns its result. Arguments and result go through JSON as those of a run do; a step takes the
    results of other steps as arguments. The context works in memory: its steps are carried out,
    jobs in steps too, saved values stay for this call, logs go to ``logging``.
    Waits return at once: ``signals`` has the values of signals by name, ``answers`` those of
    questions by their text; what is not there is a ``TimeoutError``. What the body raises is raised
    here, outcomes too, those that it returns included. Between two polls of an operation, and two
    tries of a step, no time passes.
    Raises ``InvalidArguments``, and ``TypeError`` when the body is no function.
    """
    carried: Job[..., Any] = (job.target or job.job) if isinstance(job, Step) else job
    memory = Memory(dict(signals or {}), dict(answers or {}))
    return called(carried, carried.body.bind(args, kwargs), memory)


def called(job: Job[..., Any], plain: Mapping[str, Any], memory: Memory) -> Any:
    """The result of a body, of plain arguments."""
    function = job.body
    if not isinstance(function, Function):
        raise TypeError(f"the body of job {job.name!r} is no function; run it by a TestClient")
    for _ in range(MOST_PASSES):
        try:
            return passed(job, function, plain, memory)
        except Parting as parting:
            memory.pass_time(job, parting.answer)
    raise RuntimeError(f"job {job.name!r} was entered {MOST_PASSES:,} times and still waits")


def passed(job: Job[..., Any], function: Function, plain: Mapping[str, Any], memory: Memory) -> Any:
    """The result of one pass through a body."""
    if function.is_async:
        result = to_the_end(carry_out(job, function, plain, memory))
    elif function.takes_context:
        context = RunContext.of(assignment(job, plain), memory, Going(), CallingThrough)
        result = function.fn(context, **function.arguments(plain))
    else:
        result = function.fn(**function.arguments(plain))
    if isinstance(result, Outcome):
        raise result
    return function.load(codec.decode(function.dump(result)))


async def carry_out(
    job: Job[..., Any], function: Function, plain: Mapping[str, Any], memory: Memory
) -> Any:
    """Carry out an ``async def`` body."""
    arguments = function.arguments(plain)
    if not function.takes_context:
        return await function.fn(**arguments)
    context = await AsyncRunContext.of(assignment(job, plain), memory, Going(), CallingThrough)
    return await function.fn(context, **arguments)


def to_the_end(body: Coroutine[Any, Any, T]) -> T:
    """What ``body`` gives; where a loop goes already, it is held up meanwhile."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(body)
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(contextvars.copy_context().run, asyncio.run, body).result()


def assignment(job: Job[..., Any], plain: Mapping[str, Any]) -> Assignment:
    """The facts of a first attempt."""
    return Assignment(
        run_id=1,
        root_id=1,
        lease=1,
        job=job.name,
        workspace=WORKSPACE,
        attempt=1,
        max_attempts=job.spec.max_attempts,
        logical_time=job.options.logical_time or datetime.now(UTC),
        trigger=Trigger(kind=TriggerKind.USER),
        subject=subject(job, plain),
        args=plain,
    )


def subject(job: Job[..., Any], plain: Mapping[str, Any]) -> str | None:
    """What the run acts on, by the job's template."""
    values = {**job.body.defaults, **plain, "workspace": WORKSPACE}

    def value(place: re.Match[str]) -> str:
        found: Any = values
        for part in place[1].split("."):
            found = found[part]
        return str(found)

    return PLACE.sub(value, job.spec.subject) if job.spec.subject else None


class Memory:
    """A host that keeps everything for as long as one call takes."""

    def __init__(self, signals: dict[str, Any], answers: dict[str, Any]) -> None:
        self.kept: dict[str, tuple[Kept, float]] = {}
        """With the moment at which it was kept."""
        self.clock = 0.0
        self.came = {"signal": signals, "question": answers}

    def log(self, level: str, stream: str, text: str) -> None:
        """Nothing comes here: what is logged and printed goes where it always does."""

    def progress(self, percent: int, message: str) -> None:
        """Nobody looks."""

    def used(self, peak_bytes: int, cpu_seconds: float) -> None:
        """There are no processes."""

    def stop_wanted(self) -> str:
        """Nobody wants it to stop."""
        return ""

    async def checkpoints(self) -> Past:
        """What was kept so far."""
        aged = {key: replace(each, age=self.clock - at) for key, (each, at) in self.kept.items()}
        return Past(0, aged)

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
        """Keep JSON text."""
        if overwrite or key not in self.kept:
            self.kept[key] = Kept(value, ordinal, undo), self.clock
        return self.kept[key][0].value

    def unwinds(self) -> None:
        """Nothing is undone."""

    async def wait(self, waiting: Waiting) -> Met:
        """What was given for it comes at once, or never."""
        if waiting.reason:  # what was given does not fit, and would not the next time
            raise InvalidArguments(waiting.reason)
        came = self.came.get(waiting.kind, {})
        if waiting.kind != "sleep" and waiting.name in came:
            return Met(codec.encode(came[waiting.name], name=waiting.name))
        if waiting.kind != "sleep" and waiting.seconds is None:
            raise never(waiting)
        return Met(late=True)

    async def child(self, wanted: Wanted) -> Child:
        """Children are carried out where they are asked for."""
        raise AssertionError(f"{wanted.job} is called through")

    async def open_children(self, ids: Sequence[int]) -> tuple[list[int], int]:
        """None is ever open."""
        return list(ids), 0

    def pass_time(self, job: Job[..., Any], answer: Answer) -> None:
        """Go to the moment at which a body that was left is entered again.

        Raises ``RuntimeError`` when nothing wakes it.
        """
        if not isinstance(answer, Parked) or answer.seconds is None:
            why = answer.reason if isinstance(answer, Parked) else answer
            raise RuntimeError(f"job {job.name!r} would wait here for ever: {why}")
        self.clock += answer.seconds

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry out ``work``, which is one of the above and never really waits."""
        try:
            work.send(None)
        except StopIteration as end:
            value: T = end.value
            return value
        raise RuntimeError("only what the host itself gives can be waited for")


class CallingThrough(Carrying):
    """Steps that are jobs, carried out here and now; no result is kept in a database."""

    __slots__ = ()

    @override
    async def keep_in_transaction(self, item: Item, text: str) -> None:
        undo = self.rules.compensate is not None
        await self.way.keep(item.key, text, ordinal=item.ordinal, undo=undo)

    @override
    async def start(
        self, job: Job[..., Any], args: Sequence[Any], kwargs: Any, *, key: str, step: str | None
    ) -> Child:
        plain = job.body.bind(args, kwargs)
        result, error, state = None, None, State.SUCCEEDED
        try:
            result = called(job, plain, Memory({}, {}))
        except (Exception, Outcome) as failed:
            state = ENDS.get(type(failed), State.FAILED)
            error = Failure(type=type(failed).__qualname__, message=str(failed))
        text = job.body.dump(result)
        return Child(ended_run(job, plain, state, codec.decode(text), error), 0)
