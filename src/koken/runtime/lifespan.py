"""What a program wants around its bodies, such as connections that all of them share."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from koken.define.registry import Program


async def enter_lifespan(program: Program, stack: AsyncExitStack) -> Any:
    """Enter what the program wants around its bodies; left again with ``stack``.

    Returns what it gives, which bodies find as ``ctx.state``.
    """
    if program.lifespan is None:
        return None
    around = program.lifespan()
    if isinstance(around, AbstractAsyncContextManager):
        return await stack.enter_async_context(around)
    return stack.enter_context(around)
