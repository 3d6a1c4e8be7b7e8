"""Bodies whose arguments have types, and a Python function as one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from koken.define.arguments import Arguments
from koken.define.body import Body
from koken.define.result import Result
from koken.define.signature import read
from koken.errors import DeclarationError


class TypedBody(Body):
    """A body whose arguments have types: ``call`` says which."""

    def __init__(self, call: Arguments) -> None:
        self.call = call
        self.label = call.job
        self.parameters = call.schema
        self.defaults = call.defaults
        self.required = call.required

    def named(self, label: str) -> Self:
        """The same body, as that of the job ``label``."""
        other = super().named(label)
        other.call = self.call.named(label)
        return other

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The plain values, by name, of a call with these arguments; checked by the type hints.

        What the call leaves out is left out. Raises ``InvalidArguments``.
        """
        return self.call.bind(args, kwargs)

    def bind_plain(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """As ``bind``, of JSON values, as they come over HTTP or from a file."""
        return self.call.bind_plain(plain)

    def bind_text(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """As ``bind``, of texts from a terminal.

        A text is taken as it stands where the argument's type allows it, else read as JSON.
        """
        return self.call.bind_text(texts)

    def arguments(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        """The typed keyword arguments for the function, of stored values; not to be written into.

        Raises ``InvalidArguments`` when they no longer fit the function.
        """
        return self.call.typed(plain)


class Function(TypedBody):
    """``fn`` as the body of the job ``label``, with what its type hints say.

    ``is_async`` tells whether it is an ``async def``; ``takes_context`` whether its first
    parameter is the context, which is not one of its arguments.
    Raises ``DeclarationError`` when a run could not call it.
    """

    def __init__(self, fn: Callable[..., Any], *, label: str) -> None:
        signature = read(fn, label)
        super().__init__(Arguments(signature.parameters, job=label))
        self.fn = fn
        self.description = inspect.cleandoc(fn.__doc__ or "")
        self.is_async = signature.is_async
        self.takes_context = signature.takes_context
        self.usual_executor = "loop" if signature.is_async else "thread"
        self.result = Result(signature.result, owner=f"job {label!r}")

    def check_executor(self, name: str) -> None:
        """Refuse an executor of the other colour, and a process that could not import ``fn``."""
        if name == "thread" and self.is_async:
            raise DeclarationError(
                "executor 'thread' carries out def, not async def; leave it out."
            )
        if name == "loop" and not self.is_async:
            raise DeclarationError("executor 'loop' carries out async def, not def; leave it out.")
        path = self.fn.__qualname__
        if name == "process" and ("<locals>" in path or "<lambda>" in path):
            raise DeclarationError(
                f"executor 'process' imports the function anew, and cannot reach {path}. "
                "Move it to the top of its module."
            )

    def dump(self, result: Any) -> str:
        """The result as JSON text, by the return annotation.

        Raises ``Unstorable`` when it has none, ``TypeError`` when it is no such result.
        """
        return "null" if result is None else self.result.dump(result)

    def load(self, plain: Any) -> Any:
        """The typed result from plain values. Raises ``pydantic.ValidationError``."""
        return self.result.load(plain)
