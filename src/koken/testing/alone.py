"""A body alone: carried out here and now, without a database or a worker."""

from __future__ import annotations

import asyncio
import contextvars
import re
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar

from koken.define.function import Function
from koken.define.job import Job
from koken.executors.base import Assignment
from koken.executors.context import AsyncRunContext, RunContext
from koken.executors.stopping import Going
from koken.model import codec
from koken.model.outcome import Outcome
from koken.model.run import Trigger, TriggerKind

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
PLACE = re.compile(r"\{([A-Za-z_][\w.]*)\}")
WORKSPACE = "default"


def call(job: Job[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Carry out the body of ``job`` once, here and now; returns its result.

    Arguments and result go through JSON as those of a run do. The context works in memory: steps
    are carried out, saved values stay for this call, logs go to ``logging``. What the body raises
    is raised here, outcomes too, those that it returns included.
    Raises ``InvalidArguments``, and ``TypeError`` when the job's body is no function.
    """
    function = job.body
    if not isinstance(function, Function):
        raise TypeError(f"the body of job {job.name!r} is no function; run it by a TestClient")
    plain = function.bind(args, kwargs)
    if function.is_async:
        result = to_the_end(carry_out(job, function, plain))
    elif function.takes_context:
        context = RunContext(assignment(job, plain), Memory(), Going())
        result = function.fn(context, **function.arguments(plain))
    else:
        result = function.fn(**function.arguments(plain))
    if isinstance(result, Outcome):
        raise result
    typed: R = function.load(codec.decode(function.dump(result)))
    return typed


async def carry_out(job: Job[..., Any], function: Function, plain: Mapping[str, Any]) -> Any:
    """Carry out an ``async def`` body."""
    arguments = function.arguments(plain)
    if not function.takes_context:
        return await function.fn(**arguments)
    context = await AsyncRunContext(assignment(job, plain), Memory(), Going()).open()
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

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def log(self, level: str, stream: str, text: str) -> None:
        """Nothing comes here: what is logged and printed goes where it always does."""

    def progress(self, percent: int, message: str) -> None:
        """Nobody looks."""

    def stop_wanted(self) -> str:
        """Nobody wants it to stop."""
        return ""

    async def checkpoints(self) -> dict[str, str]:
        """What was kept so far."""
        return dict(self.kept)

    async def keep(self, key: str, value: str, *, overwrite: bool) -> str:
        """Keep JSON text."""
        if overwrite:
            self.kept[key] = value
        return self.kept.setdefault(key, value)

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry out ``work``, which is one of the above and never really waits."""
        try:
            work.send(None)
        except StopIteration as end:
            value: T = end.value
            return value
        raise RuntimeError("only what the host itself gives can be waited for")
