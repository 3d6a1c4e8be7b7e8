"""What may stand in a step: a function, a job, an operation, a body; and the form of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from koken.define.body import Body
from koken.define.job import Job
from koken.define.operation import Operation, check_operation
from koken.errors import WorkflowChanged
from koken.executors import steps
from koken.model import codec

SHOWN = 1_000
"""Characters of an item that the ledger shows whole."""
stand_in: ContextVar[Callable[[str], Callable[..., Any] | None] | None] = ContextVar(
    "koken_stand_in", default=None
)
"""In a test: asked for each step that is carried out what goes in its place, by its name."""


@dataclass(frozen=True, slots=True)
class Item:
    """One step on its way, or one item of a map."""

    name: str
    """``create``, or ``create[2]``."""
    key: str
    ordinal: int | None
    target: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None
    line: tuple[str, int] | None = None
    """Its line in the ledger, where it has one."""

    def encode(self, value: Any) -> tuple[str, Any]:
        """A result as JSON text, and what a replay will make of that."""
        if isinstance(self.target, Body):
            return self.target.dump(value), value
        return steps.encode(self.name, self.form, value)

    def decode(self, text: str) -> Any:
        """The result that was kept. Raises ``WorkflowChanged`` when it does not fit any more."""
        if isinstance(self.target, Job | Body):
            body = self.target.body if isinstance(self.target, Job) else self.target
            try:
                return body.load(codec.decode(text))
            except ValidationError as error:
                raise WorkflowChanged(
                    f"step {self.name!r}: the result on record is not one of {self.target!r}: "
                    f"{error}"
                ) from None
        return steps.decode(self.name, self.form, text)

    @property
    def form(self) -> Callable[..., Any]:
        """The function by whose annotation the result is kept."""
        target = self.target
        found: Callable[..., Any] = target.poll if isinstance(target, Operation) else target
        return found


def standing_in(name: str) -> Callable[..., Any] | None:
    """What goes in place of the step of that name; None outside of tests."""
    asked = stand_in.get()
    return None if asked is None else asked(name)


def named(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Refuse what cannot stand in a step. Raises ``TypeError``, and ``DeclarationError`` for what
    is no whole operation."""
    check_operation(target)
    if isinstance(target, Operation):
        if len(args) != 1 or kwargs:
            raise TypeError(f"{type(target).__name__} is given one item, as its only argument")
    elif not callable(target) and not isinstance(target, Job | Body):
        raise TypeError(
            f"{target!r} cannot stand in a step: it is no function, job, operation or body"
        )


def shown(item: Any) -> str:
    """An item as JSON text for the ledger; a long one, or one that is no JSON, in part."""
    try:
        text = codec.encode(item, name="an item")
    except codec.Unstorable:
        text = codec.encode(codec.clean(repr(item), SHOWN), name="an item")
    return text if len(text) <= SHOWN else codec.encode(codec.clean(text, SHOWN), name="an item")
