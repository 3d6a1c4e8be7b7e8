"""Work elsewhere: a system that is told to do something, and asked from time to time how it goes.

A run holds no worker between two questions. An ``Operation`` stands wherever a function may stand:
in ``ctx.step``, in ``ctx.map``, as a step of a workflow.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, get_type_hints

from typing_extensions import TypeVar

from koken.define.asynccontext import AsyncContext
from koken.errors import DeclarationError
from koken.model.duration import Duration, seconds
from koken.model.outcome import Fail, Retry, Snooze
from koken.model.shown import shown

I = TypeVar("I", contravariant=True)  # noqa: E741  # item, handle, result
H = TypeVar("H")
R = TypeVar("R", covariant=True)


LEAST = 1.0
"""Seconds: the shortest time between two polls, and the shortest of all."""


def length(value: Duration, name: str, *, least: float = 0.0, whose: str = "") -> float:
    """Seconds of an option. Raises ``DeclarationError``."""
    try:
        found = seconds(value, name=name)
    except ValueError as error:
        raise DeclarationError(f"{whose}an operation's {error}") from None
    if found < least:
        raise DeclarationError(
            f"{whose}an operation's {name} is {shown(value)}; it is at least {least:g} s"
        )
    return found


@dataclass(frozen=True, slots=True, init=False)
class Stall:
    """When an operation counts as stuck. All lengths in seconds.

    ``no_handle``: how long after a ``submit`` that gave no handle ``find`` may look for one.
    ``in_flight``: how long a handle may be polled; then the operation is cancelled. Either way it
    is submitted again, at most ``max_submits`` times in all.
    """

    no_handle: float
    in_flight: float | None
    max_submits: int

    def __init__(
        self,
        *,
        no_handle: Duration = "30m",
        in_flight: Duration | None = None,
        max_submits: int = 3,
    ) -> None:
        if type(max_submits) is not int or max_submits < 1:
            raise DeclarationError(f"max_submits is {shown(max_submits)}; it counts from 1")
        limit = None if in_flight is None else length(in_flight, "in_flight", least=LEAST)
        object.__setattr__(self, "no_handle", length(no_handle, "no_handle"))
        object.__setattr__(self, "in_flight", limit)
        object.__setattr__(self, "max_submits", max_submits)


class Operation(Generic[I, H, R]):
    """Work that another system does: ``I`` is what it is given, ``H`` names it there, ``R`` comes
    of it.

    The methods may be ``def`` or ``async def``. ``key`` is the same for one submission of one item
    in all attempts at the run. The handle is recorded before the first ``poll``.
    """

    every: ClassVar[Duration] = "1m"
    """The time between two polls; at least one second."""
    within: ClassVar[Duration | None] = None
    """How long all of it may take, submissions after a stall included; then it is cancelled."""
    stall: ClassVar[Stall] = Stall()

    def __init_subclass__(cls, **rest: Any) -> None:
        """Check its times, where they are known already. Raises ``DeclarationError``."""
        super().__init_subclass__(**rest)
        whose = f"{cls.__qualname__}: "
        for name in ("every", "within"):
            value = getattr(cls, name)
            known = not hasattr(type(value), "__get__")
            if known and (value is not None or name == "every"):
                length(value, name, least=LEAST, whose=whose)
        stall: object = cls.stall
        if not isinstance(stall, Stall) and not hasattr(type(stall), "__get__"):
            raise DeclarationError(f"{whose}an operation's stall is {shown(stall)}; write Stall(…)")

    def find(self, item: I, key: str) -> H | Awaitable[H | None] | None:
        """The handle of what was submitted under ``key``, or None; asked before each submit."""
        return None

    def submit(self, item: I, key: str) -> H | Awaitable[H | None] | None:
        """Begin the work; gives its handle. None: there will be one, ``find`` tells.

        An exception spends one of ``max_submits``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no submit()")

    def poll(
        self, item: I, handle: H
    ) -> R | Snooze | Retry | Fail | Awaitable[R | Snooze | Retry | Fail]:
        """How it goes: the result, ``Snooze`` (not yet), ``Retry`` (submit again) or ``Fail``.

        An exception is logged, and it is polled again next time.
        """
        raise NotImplementedError(f"{type(self).__name__} has no poll()")

    def cancel(self, item: I, handle: H) -> Awaitable[None] | None:
        """End the work: the run was cancelled or failed, or the operation is stuck."""

    def logs(self, item: I, handle: H, cursor: Any) -> Any:
        """New lines of the work's log after ``cursor``: ``(lines, cursor)``; None: it has none."""

    @property
    def pause(self) -> float:
        """Seconds between two polls."""
        return length(self.every, "every", least=LEAST, whose=f"{type(self).__qualname__}: ")

    @property
    def limit(self) -> float | None:
        """Seconds that all of it may take."""
        if self.within is None:
            return None
        return length(self.within, "within", least=LEAST, whose=f"{type(self).__qualname__}: ")


def check_operation(target: Any) -> None:
    """Refuse an operation that lacks a method, and a class of operations in place of one.

    Raises ``DeclarationError``.
    """
    if isinstance(target, type) and issubclass(target, Operation):
        name = target.__name__
        raise DeclarationError(f"{name} is the class of an operation; give an instance: {name}().")
    if isinstance(target, Operation):
        for name in ("submit", "poll"):
            method = getattr(target, name)
            if getattr(method, "__func__", None) is getattr(Operation, name):
                raise DeclarationError(f"{type(target).__name__} has no {name}.")


def body_of(operation: Operation[Any, Any, Any]) -> Callable[..., Any]:
    """An ``async def`` that carries out ``operation`` as its one step.

    Its argument is named and typed as the item is in ``submit``, its result as in ``poll``.
    """
    name = next(iter(inspect.signature(operation.submit).parameters))
    kind = type(operation)

    async def carry(ctx: AsyncContext, **given: Any) -> Any:
        return await ctx.step(kind.__name__, operation, given[name])

    carry.__doc__ = kind.__doc__ if kind.__doc__ != Operation.__doc__ else None
    carry.__annotations__ = {
        "ctx": AsyncContext,
        name: plain_hint(operation.submit, name),
        "return": plain_hint(operation.poll, "return"),
    }
    item = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    carry.__dict__["__signature__"] = inspect.Signature([context, item])
    return carry


def plain_hint(method: Callable[..., Any], name: str) -> Any:
    """A type hint of a method, where it says something."""
    try:
        hint = get_type_hints(method, include_extras=True).get(name, Any)
    except NameError:
        return Any
    general = method.__qualname__.startswith(f"{Operation.__name__}.")
    return Any if general or isinstance(hint, TypeVar) else hint
