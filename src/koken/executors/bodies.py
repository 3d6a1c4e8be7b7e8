"""Carrying out a function: its arguments, its context, its answer."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from koken.define.function import Function
from koken.errors import WorkflowChanged
from koken.executors.base import (
    Answer,
    Assignment,
    Host,
    Parting,
    Raised,
    Returned,
    Undoing,
    raised,
)
from koken.executors.context import AsyncRunContext, RunContext
from koken.executors.hands import done
from koken.executors.stopping import Going, answer_to
from koken.executors.way import Way
from koken.model.outcome import Outcome


def answer_with(function: Function, result: Any) -> Answer:
    """The answer of a body that returned ``result``: a value, or an outcome.

    Raises ``Unstorable`` when the value cannot be kept.
    """
    if isinstance(result, Undoing | Raised):
        return result
    return result if isinstance(result, Outcome) else Returned(function.dump(result))


def perform(function: Function, assignment: Assignment, host: Host, going: Going) -> Answer:
    """Carry out a ``def`` body here and now."""
    context = RunContext.of(assignment, host, going)
    try:
        arguments = function.arguments(assignment.args)
        if not function.takes_context:
            return answer_with(function, function.fn(**arguments))
        result = function.fn(context, **arguments)
        if assignment.lease > 1:
            done(context.way.load())
        return answer_with(function, concluded(context.way, result))
    except BaseException as error:
        return in_undo_mode(context.way, answer_to(error))


async def begin(
    function: Function, assignment: Assignment, host: Host, going: Going
) -> Coroutine[Any, Any, Any]:
    """An ``async def`` body, ready to be driven."""
    arguments = function.arguments(assignment.args)
    if not function.takes_context:
        body: Coroutine[Any, Any, Any] = function.fn(**arguments)
        return body
    context = await AsyncRunContext.of(assignment, host, going)
    return to_the_end(function, context, arguments)


async def to_the_end(function: Function, context: AsyncRunContext, arguments: Any) -> Any:
    """What the body returns, if it may return now."""
    try:
        result = await function.fn(context, **arguments)
        await context.way.settled()
        return concluded(context.way, result)
    except (Exception, Outcome, Parting) as error:
        if context.way.undo is None:
            raise
        raise Parting(in_undo_mode(context.way, answer_to(error))) from None


def concluded(way: Way, result: Any) -> Any:
    """The result of a body that has returned. Raises when it may not have."""
    if way.undo is not None:
        return in_undo_mode(way, Returned("null"))
    if not isinstance(result, Outcome):
        way.finish()
    return result


def in_undo_mode(way: Way, answer: Answer) -> Answer:
    """The answer of a body that is to be undone, but has gone to its end, or missed what is."""
    wanted = way.undo
    to_the_end = not way.left_in and isinstance(answer, Returned | Raised | Outcome)
    if wanted == "*" and to_the_end:
        return way.undone()
    missed = isinstance(answer, Undoing) or (to_the_end and not isinstance(answer, Raised))
    if wanted in (None, "*") or not missed:
        return answer
    return raised(
        WorkflowChanged(
            f"{way.assignment.job}: what undoes step {wanted!r} of run {way.assignment.run_id} is "
            "not found: the body does not come by that step, or not with compensate=, any more"
        )
    )
