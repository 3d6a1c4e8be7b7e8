"""A step of a workflow: what ``flow.step`` makes of a function, a body or a job."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NoReturn,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    overload,
)

from koken.define import checks, stepoptions
from koken.define.asynccontext import AsyncContext
from koken.define.condition import Condition
from koken.define.context import Context
from koken.define.draft import Draft, Sketch
from koken.define.function import Function
from koken.define.job import Job, check_target, own_name
from koken.define.operation import Operation, check_operation
from koken.define.stepjob import step_job, undo_job
from koken.define.stepoptions import KNOWN, KNOWN_UNDO, UndoOptions
from koken.define.wiring import wired
from koken.errors import DeclarationError
from koken.model.outcome import Cancel, Fail, Retry, Skip, Snooze
from koken.model.shown import shown
from koken.model.steps import StepSpec

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])


class Step(Generic[P, R_co]):
    """A step with the parameters ``P`` and the result ``R``; ``flow.step`` makes one."""

    __slots__ = ("draft", "sketch")

    def __init__(self, sketch: Sketch, draft: Draft) -> None:
        self.sketch = sketch
        self.draft = draft

    @property
    def name(self) -> str:
        """Its name within the workflow."""
        return self.draft.name

    @property
    def spec(self) -> StepSpec:
        """Everything about it but its code.

        Raises ``DeclarationError`` when the workflow's steps do not fit together.
        """
        return wired(self.sketch)[self.name]

    @property
    def job(self) -> Job[..., Any]:
        """The job that carries its body, ``nightly.table``; no client starts it by itself."""
        return self.draft.job

    @property
    def target(self) -> Job[..., Any] | None:
        """The job that it starts, where it is one."""
        return self.draft.target

    @property
    def undo(self) -> Job[..., Any] | None:
        """The job that undoes it, ``nightly.table.undo``; see ``compensate``."""
        return self.draft.undo

    @property
    def condition(self) -> Condition | None:
        """When it goes: the values that fit by name, or a predicate; see ``condition.unmet``."""
        return self.draft.condition

    @property
    def fn(self) -> Callable[..., Any]:
        """The plain function, to call it here and now.

        Raises ``TypeError`` when the step is made of something else.
        """
        if isinstance(self.job.body, Function):
            return self.job.body.fn
        raise TypeError(f"step {self.job.name!r} is no function, so there is none to call")

    @overload
    def compensate(self, fn: F, /, **options: Unpack[UndoOptions]) -> F: ...

    @overload
    def compensate(self, /, **options: Unpack[UndoOptions]) -> Callable[[F], F]: ...

    def compensate(self, fn: Any = None, /, **options: Any) -> Any:
        """Name what undoes it: ``@publish.compensate``, or with options of its own.

        The undo runs when the workflow fails for good or is cancelled after this step succeeded,
        in reverse order of completion. Its parameters are named like this step (its result), other
        steps or the workflow's arguments. Gives the function back as it is.
        Raises ``DeclarationError`` when it cannot be the undo of this step.
        """
        if fn is None:
            return lambda undo: self.compensate(undo, **options)
        if self.draft.undo is not None:
            raise DeclarationError(f"{self.job.name} has a compensation already. Take one out.")
        self.draft.undo = undo_of(self.sketch, self.name, fn, options)
        self.sketch.specs = None
        return fn

    if not TYPE_CHECKING:  # to a type checker a step cannot be called at all

        def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
            """Refuse the call, which may be meant in two ways."""
            raise TypeError(
                f"{self.name} is a step of {self.sketch.name}. client.start({self.sketch.name}, …) "
                f"starts the workflow; {self.name}.fn(…) calls the function here and now."
            )

    def __repr__(self) -> str:
        return f"Step({self.job.name!r})"


class DeclareStep(Protocol):
    """``flow.step(…)`` with options: takes the function, gives its step."""

    @overload
    def __call__(
        self,
        fn: Callable[
            Concatenate[AsyncContext, P],
            Coroutine[Any, Any, R | Retry | Snooze | Skip | Fail | Cancel],
        ],
        /,
    ) -> Step[P, R]: ...

    @overload
    def __call__(
        self,
        fn: Callable[Concatenate[Context, P], R | Retry | Snooze | Skip | Fail | Cancel],
        /,
    ) -> Step[P, R]: ...

    @overload
    def __call__(
        self,
        fn: Callable[P, Coroutine[Any, Any, R | Retry | Snooze | Skip | Fail | Cancel]],
        /,
    ) -> Step[P, R]: ...

    @overload
    def __call__(
        self, fn: Callable[P, R | Retry | Snooze | Skip | Fail | Cancel], /
    ) -> Step[P, R]: ...


def declare_step(sketch: Sketch, target: Any, options: Mapping[str, Any]) -> Step[..., Any]:
    """The step of ``sketch`` that carries out ``target``, with the options of ``flow.step``.

    Raises ``DeclarationError`` when it cannot be as it is declared.
    """
    name = step_name(sketch, target, options.get("name"))
    try:
        chosen = stepoptions.given(options, KNOWN)
        kind, job = step_job(sketch, target, name, chosen)
        draft = Draft(
            name=name,
            kind=kind,
            job=job,
            target=target if isinstance(target, Job) else None,
            **references(sketch, chosen),
            **stepoptions.own(chosen),
        )
    except (DeclarationError, ValueError) as error:
        raise DeclarationError(said_of(f"{sketch.name}.{name}", str(error))) from None
    if "compensate" in chosen:
        draft.undo = undo_of(sketch, name, chosen["compensate"], {})
    sketch.drafts[name] = draft
    sketch.specs = None
    return Step(sketch, draft)


def undo_of(sketch: Sketch, name: str, target: Any, options: Mapping[str, Any]) -> Job[..., Any]:
    """The job that undoes the step ``name``."""
    label = f"{sketch.name}.{name}.undo"
    try:
        check_step_target(target)
        return undo_job(sketch, target, name, stepoptions.given(options, KNOWN_UNDO))
    except (DeclarationError, ValueError) as error:
        raise DeclarationError(said_of(label, str(error))) from None


def said_of(label: str, message: str) -> str:
    """The message, with whom it speaks of unless it says so itself."""
    whole = message if message.startswith((f"job {label!r}", label)) else f"{label}: {message}"
    return checks.sentence(whole)


def step_name(sketch: Sketch, target: Any, given: Any) -> str:
    """The name of a step. Raises ``DeclarationError`` when it cannot have it."""
    check_step_target(target)
    name = given if given is not None else target.name if isinstance(target, Job) else own(target)
    try:
        checks.name(name, "name")
    except DeclarationError as error:
        raise DeclarationError(f"a step of {sketch.name}: {error}.") from None
    found: str = name
    if isinstance(target, Job) and target.name == sketch.name:
        raise DeclarationError(f"{sketch.name} cannot be a step of itself.")
    if found in sketch.drafts:
        raise DeclarationError(
            f"{sketch.name} has two steps called {found!r}. Give one of them another name: "
            'flow.step(…, name="…").'
        )
    if found in sketch.arguments:
        raise DeclarationError(
            f"{sketch.name} has an argument and a step called {found!r}. "
            "Give one of them another name."
        )
    return found


def own(target: Any) -> str:
    """The name that a function gives its step."""
    if isinstance(target, Operation):
        kind = type(target).__name__
        raise DeclarationError(f'A {kind} has no name of its own. Write name="…".')
    try:
        return own_name(target)
    except DeclarationError as error:
        raise DeclarationError(str(error).replace("app.job(", "flow.step(")) from None


def check_step_target(target: Any) -> None:
    """Refuse what can be no step."""
    if isinstance(target, Step):
        raise DeclarationError(
            f"{target.name} is a step already. Declare its function: "
            f'flow.step({target.name}.fn, name="…").'
        )
    check_operation(target)
    if not isinstance(target, Job | Operation):
        check_target(target)


def references(sketch: Sketch, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The options that speak of other steps, as names."""
    after = checks.several(chosen.get("after", ()), "after", (str, Step))
    inputs, each = chosen.get("inputs", {}), chosen.get("each")
    for option, value, example in (
        ("inputs", inputs, '{"rows": fetch}'),
        ("each", {} if each is None else each, '{"file": files}'),
    ):
        if not isinstance(value, Mapping):
            raise DeclarationError(f"{option} is {shown(value)}; write {example}")
    if each is not None and len(each) != 1:
        raise DeclarationError(f'each is {shown(each)}; it names one parameter: {{"file": files}}')
    pair = next(iter(each.items())) if each else None
    return {
        "after": tuple(reference(sketch, "after", step) for step in after),
        "inputs": {
            name: reference(sketch, f"inputs[{name!r}]", step) for name, step in inputs.items()
        },
        "each": pair and (pair[0], reference(sketch, f"each[{pair[0]!r}]", pair[1])),
    }


def reference(sketch: Sketch, option: str, step: Any) -> str:
    """The name of a step that an option speaks of."""
    if isinstance(step, str):
        return step
    if not isinstance(step, Step):
        raise DeclarationError(f"{option} names {shown(step)}; give a step, or its name")
    if step.sketch is not sketch:
        raise DeclarationError(
            f"{option} names {step.name!r}, which is a step of {step.sketch.name}"
        )
    return step.name
