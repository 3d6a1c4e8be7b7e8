"""A job: what a program declares and what a client is given to start."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar, overload

from koken.define import checks, options
from koken.define.body import Body
from koken.define.function import Function
from koken.define.options import BackoffRule, Executor, OverlapName
from koken.define.spelling import spelt
from koken.define.starting import changed
from koken.errors import DeclarationError
from koken.model.duration import Duration
from koken.model.job import JobSpec, StartOptions
from koken.model.policy import Backoff, Overlap
from koken.model.shown import shown

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Job(Generic[P, R_co]):
    """A job with the arguments ``P`` and the result ``R``.

    ``app.job`` makes one of a function. ``Job("name")`` stands for a job of another program: its
    arguments are given by name and checked by that program.
    """

    name: str
    declared: JobSpec
    """What its own declaration says of it; see ``spec``."""
    body: Body
    """What it carries out: a ``Function``, or a body from ``koken.executors``."""
    executor: str | Executor
    """Where it is carried out: the object that the program gave, or a name."""
    backoff: Backoff | BackoffRule
    never_retry: tuple[type[Exception], ...]
    options: StartOptions
    """How starts differ from what the job says; see ``using``."""
    foreign: bool
    """Whether another program declares it."""

    @overload
    def __init__(self: Job[..., Any], name: str, /) -> None: ...

    @overload
    def __init__(
        self,
        name: str,
        /,
        *,
        body: Body,
        given: Mapping[str, Any],
        keyed: Sequence[str] | None = None,
    ) -> None: ...

    def __init__(
        self,
        name: str,
        /,
        *,
        body: Body | None = None,
        given: Mapping[str, Any] | None = None,
        keyed: Sequence[str] | None = None,
    ) -> None:
        chosen = given or {}
        whole = body or Body().named(name)
        parts = {
            "name": name,
            "declared": options.specify(name, whole, chosen, keyed),
            "body": whole,
            "executor": chosen.get("executor", whole.usual_executor),
            "backoff": checks.backoff(chosen.get("backoff", Backoff())),
            "never_retry": checks.errors(chosen.get("never_retry", ())),
            "options": StartOptions(),
            "foreign": body is None,
        }
        for part, value in parts.items():
            object.__setattr__(self, part, value)

    @property
    def spec(self) -> JobSpec:
        """Everything about it but its code.

        Raises ``DeclarationError`` when it is a workflow whose steps do not fit together.
        """
        return self.body.complete(self.declared)

    @property
    def fn(self) -> Callable[..., Any]:
        """The plain function, to call it here and now.

        Raises ``TypeError`` when the job has none: its body is something else, or elsewhere.
        """
        if isinstance(self.body, Function):
            return self.body.fn
        where = (
            "is declared in another program" if self.foreign else "has a body that is no function"
        )
        raise TypeError(f"job {self.name!r} {where}, so there is no function to call")

    @property
    def place(self) -> str:
        """Where the program declares it: ``flights/jobs.py:12``; for messages."""
        code = getattr(getattr(self.body, "fn", None), "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(self.body)

    @spelt
    def using(
        self,
        *,
        run_at: datetime | None = None,
        delay: Duration | None = None,
        priority: int | None = None,
        queue: str | None = None,
        idempotency_key: str | None = None,
        overlap: OverlapName | Overlap | None = None,
        logical_time: datetime | None = None,
    ) -> Job[P, R_co]:
        """A copy whose starts differ from what the job says; starts nothing.

        ``run_at``: not before that instant (aware). ``delay``: not before so long from now, in
        seconds or as text. ``priority``: smaller first. ``idempotency_key``: a second start with
        it gives the first one's run. ``overlap``: the rule for this start. ``logical_time``: the
        time that the run stands for (aware).
        Raises ``InvalidArguments`` when a value cannot be, ``TypeError`` for an unknown name.
        """
        wanted = {
            "run_at": run_at,
            "delay": delay,
            "priority": priority,
            "queue": queue,
            "idempotency_key": idempotency_key,
            "overlap": overlap,
            "logical_time": logical_time,
        }
        other = copy.copy(self)
        object.__setattr__(other, "options", changed(self.name, self.options, wanted))
        return other

    if not TYPE_CHECKING:  # to a type checker a job cannot be called at all

        def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
            """Refuse the call, which may be meant in two ways."""
            raise TypeError(
                f"{self.name} is a job. client.start({self.name}, …) starts it; "
                f"{self.name}.fn(…) calls the function here and now."
            )

    def __repr__(self) -> str:
        return f"Job({self.name!r})"


def declare(target: Any, chosen: Mapping[str, Any]) -> Job[..., Any]:
    """The job of ``target``, a function or a body, with the options of ``app.job``.

    Raises ``DeclarationError`` when it cannot be as it is declared.
    """
    check_target(target)
    name = options.job_name(chosen.get("name") or own_name(target))
    given = options.given(chosen, name)
    if "fail_fast" in given:
        raise DeclarationError(f"job {name!r}: fail_fast is for workflows. Leave it out.")
    body = target.named(name) if isinstance(target, Body) else Function(target, label=name)
    return Job(name, body=body, given=given)


def check_target(target: Any) -> None:
    """Refuse what is neither a function nor a body."""
    if isinstance(target, Job):
        name = target.name
        raise DeclarationError(
            f"{name} is a job already. Declare its function: app.job({name}.fn)."
        )
    if isinstance(target, Body) or inspect.ismethod(target):
        return
    if not callable(target) or not inspect.isfunction(inspect.unwrap(target)):
        raise DeclarationError(
            f"{shown(target)} is neither a function nor a body from koken.executors."
        )


def own_name(target: Any) -> str:
    """The name that a function gives its job."""
    if isinstance(target, Body):
        kind = type(target).__name__
        raise DeclarationError(
            f'A {kind} has no name of its own. Write app.job({kind}(…), name="…").'
        )
    name: str = target.__name__
    if not name.isidentifier():
        raise DeclarationError('A lambda has no name of its own. Write app.job(…, name="…").')
    return name
