"""Who plays a job in a test: the job's own body, another one, or an error."""

from __future__ import annotations

import copy
import inspect
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from koken.define.body import Body
from koken.define.function import Function
from koken.define.job import Job
from koken.define.registry import Registry

Raisable = BaseException | type[BaseException]


@dataclass(slots=True)
class Part:
    """A function in place of a body, for ``left`` more times; None: for good."""

    fn: Callable[..., Any]
    left: int | None


class Cast:
    """The jobs of ``registry`` as a test wants them played."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.failures: dict[str, deque[Part]] = {}
        self.doubles: dict[str, Part] = {}

    def failing(self, job: Job[..., Any] | str, error: Raisable, times: int) -> None:
        """Let the next bodies of ``job`` raise ``error``."""
        if not isinstance(error, BaseException) and not is_kind(error):
            raise TypeError(f"{error!r} is no exception, so no body can raise it")

        def fail() -> None:
            raise error.with_traceback(None) if isinstance(error, BaseException) else error

        self.failures.setdefault(self.name(job), deque()).append(Part(fail, counted(times)))

    def replacing(
        self, job: Job[..., Any] | str, fn: Callable[..., Any], times: int | None
    ) -> None:
        """Let ``fn`` be carried out in place of the body of ``job``."""
        left = None if times is None else counted(times)
        self.doubles[self.name(job)] = Part(fn, left)

    def name(self, job: Job[..., Any] | str) -> str:
        """The name of a job of the program. Raises ``NotFound``."""
        return self.registry.get(job.name if isinstance(job, Job) else job).name

    def next(self, name: str) -> Job[..., Any] | None:
        """The job as it is played this time; None when the program has none of that name."""
        job = self.registry.jobs.get(name)
        part = self.part(name)
        return job if job is None or part is None else played(job, part.fn)

    def part(self, name: str) -> Part | None:
        """What stands in for a body this time: errors first."""
        failures = self.failures.get(name)
        if failures:
            part = failures[0]
            if spent(part):
                failures.popleft()
            return part
        double = self.doubles.get(name)
        if double is not None and spent(double):
            del self.doubles[name]
        return double


def is_kind(error: object) -> bool:
    """Whether it is a class of exceptions."""
    return isinstance(error, type) and issubclass(error, BaseException)


def counted(times: int) -> int:
    """A number of times. Raises ``ValueError``."""
    if times < 1:
        raise ValueError(f"times is {times}; it counts from 1")
    return times


def spent(part: Part) -> bool:
    """Count one time; whether it was the last."""
    if part.left is not None:
        part.left -= 1
    return part.left == 0


def played(job: Job[..., Any], fn: Callable[..., Any]) -> Job[..., Any]:
    """``job`` with ``fn`` as its body, carried out in the test's own process."""
    body = Double(job.body, fn)
    other = copy.copy(job)
    object.__setattr__(other, "body", body)
    object.__setattr__(other, "spec", replace(job.spec, executor=body.usual_executor))
    return other


class Double(Function):
    """``fn`` in place of ``body``: called with those of its arguments that it asks for by name.

    Its first parameter that is no argument of the job gets the context.
    """

    def __init__(self, body: Body, fn: Callable[..., Any]) -> None:
        self.body = body
        self.stand_in = fn
        self.fn = self.play
        self.label = body.label
        self.is_async = inspect.iscoroutinefunction(fn)
        self.takes_context = True
        self.usual_executor = "loop" if self.is_async else "thread"

    def play(self, ctx: Any, /, **arguments: Any) -> Any:
        """Carry out ``fn``."""
        wants_context, names = self.asked(arguments)
        given = {name: value for name, value in arguments.items() if name in names}
        return self.stand_in(ctx, **given) if wants_context else self.stand_in(**given)

    def asked(self, arguments: Mapping[str, Any]) -> tuple[bool, set[str]]:
        """Whether ``fn`` asks for the context, and for which arguments."""
        known = {*arguments, *(self.body.argument_names or ())}
        names: set[str] = set()
        wants_context = False
        for each in inspect.signature(self.stand_in).parameters.values():
            if each.kind is each.VAR_KEYWORD:
                names |= known
            elif each.kind is each.VAR_POSITIONAL:
                wants_context = wants_context or getattr(self.body, "takes_context", True)
            elif each.name in known:
                names.add(each.name)
            elif each.kind is not each.KEYWORD_ONLY and not names:
                wants_context = True
        return wants_context, names

    def arguments(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """As the body itself would get them."""
        return self.body.arguments(plain) if isinstance(self.body, Function) else dict(plain)

    def dump(self, result: Any) -> str:
        """As the body's own result."""
        return self.body.dump(result)
