"""A workflow: a job made of steps."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    NoReturn,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    overload,
)

from koken.define import options
from koken.define.arguments import Arguments
from koken.define.asynccontext import AsyncContext
from koken.define.body import Body
from koken.define.context import Context
from koken.define.draft import Sketch
from koken.define.function import TypedBody
from koken.define.job import Job
from koken.define.operation import Operation
from koken.define.signature import Signature, read
from koken.define.stepoptions import StepOptions
from koken.define.steps import DeclareStep, Step, declare_step
from koken.define.wiring import wired
from koken.errors import DeclarationError
from koken.model.job import JobSpec
from koken.model.outcome import Cancel, Fail, Retry, Skip, Snooze
from koken.model.shown import shown
from koken.model.steps import StepSpec

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

NOTHING = frozenset({"RESUME", "NOP", "CACHE", "RETURN_VALUE"})
CONSTANTS = frozenset({"LOAD_CONST", "RETURN_CONST"})
"""The instructions of an empty function, which returns the constant None."""


class Graph(TypedBody):
    """The steps of the workflow ``label``; the signature of an empty function is its arguments."""

    usual_executor = "loop"

    def __init__(
        self, fn: Callable[..., Any] | None, given: Mapping[str, Any], *, label: str
    ) -> None:
        signature = None if fn is None else signature_of(fn, label)
        super().__init__(Arguments(signature.parameters if signature else (), job=label))
        self.fn = fn
        self.description = inspect.cleandoc(fn.__doc__ or "") if fn else ""
        self.sketch = Sketch(label, self.call.parameters, given)
        self.steps: dict[str, Step[..., Any]] = {}
        self.whole: tuple[JobSpec, dict[str, StepSpec], JobSpec] | None = None
        """A spec, the steps as they were then, and both together; it is asked for at each run."""

    def complete(self, spec: JobSpec) -> JobSpec:
        """The job's spec with the steps in it.

        Raises ``DeclarationError`` when they do not fit together.
        """
        specs = wired(self.sketch)
        if self.whole is None or self.whole[0] is not spec or self.whole[1] is not specs:
            self.whole = spec, specs, replace(spec, steps=tuple(specs.values()))
        return self.whole[2]

    def __repr__(self) -> str:
        return f'app.workflow("{self.label}")'


class Workflow(Job[P, Any]):
    """A job with the arguments ``P`` that is made of steps; ``app.workflow`` makes one."""

    __slots__ = ()

    @property
    def graph(self) -> Graph:
        """What it is made of."""
        if isinstance(self.body, Graph):
            return self.body
        raise TypeError(f"workflow {self.name!r} has another body in place of its steps")

    @property
    def steps(self) -> dict[str, Step[..., Any]]:
        """Its steps by name, in the order of declaration."""
        return self.graph.steps

    @overload
    def step(
        self,
        fn: Callable[
            Concatenate[AsyncContext, Q],
            Coroutine[Any, Any, R | Retry | Snooze | Skip | Fail | Cancel],
        ],
        /,
        **options: Unpack[StepOptions],
    ) -> Step[Q, R]: ...

    @overload
    def step(
        self,
        fn: Callable[Concatenate[Context, Q], R | Retry | Snooze | Skip | Fail | Cancel],
        /,
        **options: Unpack[StepOptions],
    ) -> Step[Q, R]: ...

    @overload
    def step(
        self,
        fn: Callable[Q, Coroutine[Any, Any, R | Retry | Snooze | Skip | Fail | Cancel]],
        /,
        **options: Unpack[StepOptions],
    ) -> Step[Q, R]: ...

    @overload
    def step(
        self,
        fn: Callable[Q, R | Retry | Snooze | Skip | Fail | Cancel],
        /,
        **options: Unpack[StepOptions],
    ) -> Step[Q, R]: ...

    @overload
    def step(self, job: Job[Q, R], /, **options: Unpack[StepOptions]) -> Step[Q, R]: ...

    @overload
    def step(
        self, operation: Operation[Any, Any, R], /, **options: Unpack[StepOptions]
    ) -> Step[..., R]: ...

    @overload
    def step(self, body: Body, /, **options: Unpack[StepOptions]) -> Step[..., Any]: ...

    @overload
    def step(self, /, **options: Unpack[StepOptions]) -> DeclareStep: ...

    def step(self, target: Any = None, /, **options: Any) -> Any:
        """Declare a step: ``@flow.step``, ``@flow.step(queue="cpu")`` or ``flow.step(job)``.

        The options, their defaults and what they mean: ``docs/howto/write-workflows.md``.
        Raises ``DeclarationError`` when the step cannot be as it is declared. What it says of
        steps that are declared later is checked when the program has been read.
        """
        if target is None:
            return lambda fn: self.step(fn, **options)
        graph = self.graph
        step = declare_step(graph.sketch, target, options)
        graph.steps[step.name] = step
        return step

    if not TYPE_CHECKING:  # to a type checker a workflow cannot be called at all

        def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
            """Refuse the call, which would do nothing."""
            raise TypeError(
                f"{self.name} is a workflow. client.start({self.name}, …) starts it; "
                "its own function is empty."
            )

    def __repr__(self) -> str:
        return f"Workflow({self.name!r})"


class DeclareWorkflow(Protocol):
    """``app.workflow(…)`` with options: takes the empty function, gives its workflow."""

    def __call__(self, fn: Callable[P, None], /) -> Workflow[P]:
        """The workflow whose arguments are the signature of ``fn``."""
        ...


def declare_workflow(target: Any, chosen: Mapping[str, Any]) -> Workflow[...]:
    """The workflow of ``target``, an empty function or a name, with the options of ``app.job``.

    Raises ``DeclarationError`` when it cannot be as it is declared.
    """
    if isinstance(target, Job):
        raise DeclarationError(f"{target.name} is a job already. A workflow is declared by itself.")
    if not isinstance(target, str) and not inspect.isfunction(target):
        raise DeclarationError(
            f"{shown(target)} is neither a name nor a function. "
            'Write @app.workflow over an empty function, or app.workflow("name").'
        )
    fn = None if isinstance(target, str) else target
    name = options.job_name(chosen.get("name") or (fn.__name__ if fn else target))
    given = options.given(chosen, name)
    if "executor" in given:
        raise DeclarationError(
            f"workflow {name!r} carries out nothing itself. Give executor to its steps."
        )
    return Workflow(name, body=Graph(fn, given, label=name), given=given)


def signature_of(fn: Callable[..., Any], workflow: str) -> Signature:
    """The arguments that an empty function stands for."""
    if inspect.iscoroutinefunction(fn):
        raise DeclarationError(f"workflow {workflow!r} is async def, and never runs. Write def.")
    if not is_empty(fn):
        raise DeclarationError(
            f"workflow {workflow!r} has code in its function; it would never run. "
            f"Put it in a step: @{workflow}.step"
        )
    signature = read(fn, workflow)
    if signature.takes_context:
        raise DeclarationError(
            f"workflow {workflow!r} asks for the context, but its function never runs. "
            "Ask for it in a step."
        )
    return signature


def is_empty(fn: Callable[..., Any]) -> bool:
    """Whether a function does nothing: a docstring, ``pass`` or ``...`` and no more."""
    return all(
        each.opname in NOTHING or (each.opname in CONSTANTS and each.argval is None)
        for each in dis.get_instructions(fn)
    )
