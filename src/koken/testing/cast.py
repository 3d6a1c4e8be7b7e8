"""Who plays a job or a step in a test: its own body, another one, or an error."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from koken.define.job import Job
from koken.define.registry import Registry
from koken.define.spelling import did_you_mean
from koken.define.steps import Step
from koken.define.workflow import Workflow
from koken.errors import NotFound

Raisable = BaseException | type[BaseException]
Role = Job[..., Any] | Step[..., Any] | str
"""A job, a step of a workflow, or its name; also the name of a ``ctx.step`` or ``ctx.map``."""
INNER = "ctx.step "
"""Before the name of a ``ctx.step``, which may be called like a job."""


@dataclass(slots=True)
class Part:
    """A function in place of a body, for ``left`` more times; None: for good."""

    fn: Callable[..., Any]
    left: int | None


class Cast:
    """The jobs and steps of ``registry`` as a test wants them played."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.failures: dict[str, deque[Part]] = {}
        self.doubles: dict[str, Part] = {}
        self.lock = threading.Lock()
        """The items of a map may be carried out at the same time."""

    def failing(self, role: Role, error: Raisable, times: int) -> None:
        """Let the next bodies of ``role`` raise ``error``."""
        if not isinstance(error, BaseException) and not is_kind(error):
            raise TypeError(f"{error!r} is no exception, so no body can raise it")

        def fail(*_: Any, **__: Any) -> None:
            raise error.with_traceback(None) if isinstance(error, BaseException) else error

        self.failures.setdefault(self.name(role), deque()).append(Part(fail, counted(times)))

    def replacing(self, role: Role, fn: Callable[..., Any], times: int | None) -> None:
        """Let ``fn`` be carried out in place of the body of ``role``."""
        left = None if times is None else counted(times)
        self.doubles[self.name(role)] = Part(fn, left)

    def name(self, role: Role) -> str:
        """What is meant: the name of a job, ``nightly.table`` for a step, or a ``ctx.step``.

        Raises ``NotFound``, with the nearest name that there is.
        """
        if isinstance(role, Job):
            return self.of_job(role)
        if isinstance(role, Step):
            return self.of_job(role.target or role.job)
        whole = dict(self.parts())
        if role in whole:
            return whole[role].name
        same = sorted(name for name in whole if name.partition(".")[2] == role)
        if len(same) > 1:
            raise NotFound(
                f"there are several steps {role!r}: {', '.join(same)}. Name one of them."
            )
        if same:
            return whole[same[0]].name
        meant = did_you_mean(role, [*whole, *(name.partition(".")[2] for name in whole)])
        if meant and not any(role in texts(job) for job in self.registry):
            raise NotFound(f"there is no job or step {role!r}.{meant}")
        return INNER + role

    def of_job(self, job: Job[..., Any]) -> str:
        """The name of a job of the program, or of the job behind a step."""
        if any(job.name == name for name, _ in self.parts()):
            return job.name
        return self.registry.get(job.name).name

    def parts(self) -> Iterator[tuple[str, Job[..., Any]]]:
        """All that has a body, by its whole name; a step that starts a job means that job."""
        for job in self.registry:
            yield job.name, job
            for name, step in (job.steps if isinstance(job, Workflow) else {}).items():
                yield f"{job.name}.{name}", step.target or step.job
                if step.undo is not None:
                    yield step.undo.name, step.undo

    def part(self, name: str) -> Part | None:
        """What stands in for a body this time: errors first."""
        with self.lock:
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

    def inner(self, name: str) -> Callable[..., Any] | None:
        """What stands in for a ``ctx.step``, or for an item of a ``ctx.map``, this time."""
        part = self.part(INNER + name)
        if part is None and name.endswith("]"):
            part = self.part(INNER + name.rpartition("[")[0])
        return None if part is None else part.fn

    def plays(self, name: str) -> bool:
        """Whether something stands in for the next body of that name."""
        return bool(self.failures.get(name)) or name in self.doubles

    @property
    def plays_inner(self) -> bool:
        """Whether something stands in for a ``ctx.step``."""
        return any(name.startswith(INNER) for name in (*self.failures, *self.doubles))


def texts(job: Job[..., Any]) -> set[str]:
    """The texts that a job's function has in it, names of its steps among them."""
    found: set[str] = set()
    left = [code] if (code := getattr(getattr(job.body, "fn", None), "__code__", None)) else []
    while left:
        for each in left.pop().co_consts:
            if isinstance(each, str):
                found.add(each)
            elif hasattr(each, "co_consts"):
                left.append(each)
    return found


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
