"""Waiting for a moment instead of sleeping: ask again and again until it is true."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast, overload

Answer = TypeVar("Answer")

PERIOD = 0.01


@overload
async def until(predicate: Callable[[], Awaitable[Answer]], timeout: float = 20) -> Answer: ...
@overload
async def until(predicate: Callable[[], Answer], timeout: float = 20) -> Answer: ...
async def until(
    predicate: Callable[[], Answer | Awaitable[Answer]],
    timeout: float = 20,
) -> Answer:
    """The first truthy answer of ``predicate`` (plain or async); fails when none comes in time."""
    deadline = time.monotonic() + timeout
    while True:
        asked = predicate()
        answer = cast(Answer, await asked if inspect.isawaitable(asked) else asked)
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(missed(predicate, answer, timeout))
        await asyncio.sleep(PERIOD)


def until_sync(predicate: Callable[[], Answer], timeout: float = 20) -> Answer:
    """:func:`until` for tests without an event loop."""
    deadline = time.monotonic() + timeout
    while not (answer := predicate()):
        if time.monotonic() > deadline:
            raise AssertionError(missed(predicate, answer, timeout))
        time.sleep(PERIOD)
    return answer


def missed(predicate: Callable[..., object], answer: object, timeout: float) -> str:
    """What to say when the moment never came."""
    code = getattr(predicate, "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return f"not within {timeout} s: {predicate!r}{where}; last answer: {answer!r}"
