"""Carrying out a function: its arguments, its context, its answer."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from koken.define.function import Function
from koken.define.job import Job
from koken.errors import DeclarationError
from koken.executors.base import Answer, Assignment, Host, Returned, raised
from koken.executors.context import AsyncRunContext, RunContext
from koken.executors.stopping import Going, answer_to
from koken.model.outcome import Outcome


def misplaced(job: Job[..., Any], place: str) -> Answer:
    """The answer for a body that is no function, where only functions are carried out."""
    kind = type(job.body).__name__
    message = f"the body of job {job.name!r} is a {kind}, which a {place} cannot carry out"
    return raised(DeclarationError(message))


def answer_with(function: Function, result: Any) -> Answer:
    """The answer of a body that returned ``result``: a value, or an outcome.

    Raises ``Unstorable`` when the value cannot be kept.
    """
    return result if isinstance(result, Outcome) else Returned(function.dump(result))


def perform(function: Function, assignment: Assignment, host: Host, going: Going) -> Answer:
    """Carry out a ``def`` body here and now."""
    try:
        arguments = function.arguments(assignment.args)
        if function.takes_context:
            result = function.fn(RunContext(assignment, host, going), **arguments)
        else:
            result = function.fn(**arguments)
        return answer_with(function, result)
    except BaseException as error:
        return answer_to(error)


async def begin(
    function: Function, assignment: Assignment, host: Host, going: Going
) -> Coroutine[Any, Any, Any]:
    """An ``async def`` body, ready to be driven."""
    arguments = function.arguments(assignment.args)
    body: Coroutine[Any, Any, Any]
    if function.takes_context:
        context = await AsyncRunContext(assignment, host, going).open()
        body = function.fn(context, **arguments)
    else:
        body = function.fn(**arguments)
    return body
