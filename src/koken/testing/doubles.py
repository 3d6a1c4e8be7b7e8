"""Another function in place of a body."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from koken.define.body import Body
from koken.define.function import Function, TypedBody
from koken.define.job import Job


def played(job: Job[..., Any], fn: Callable[..., Any]) -> Job[..., Any]:
    """``job`` with ``fn`` as its body, carried out in the test's own process."""
    body = Double(job.body.body if isinstance(job.body, Double) else job.body, fn)
    other = copy.copy(job)
    object.__setattr__(other, "body", body)
    object.__setattr__(other, "declared", replace(job.declared, executor=body.usual_executor))
    return other


def at_hand(job: Job[..., Any]) -> Job[..., Any]:
    """``job`` carried out in the test's own process, if its body is a function."""
    if not isinstance(job.body, Function):
        return job
    other = copy.copy(job)
    object.__setattr__(other, "declared", replace(job.declared, executor=job.body.usual_executor))
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
        return self.body.arguments(plain) if isinstance(self.body, TypedBody) else dict(plain)

    def dump(self, result: Any) -> str:
        """As the body's own result."""
        return self.body.dump(result)
