"""Passes through one body: it is left, and entered again from the top."""

from __future__ import annotations

import asyncio
from typing import Any

from koken.define.job import declare
from koken.executors.base import Answer, Parked
from koken.executors.loop import LoopExecutor
from koken.executors.thread import ThreadExecutor
from tests.executors.hosts import FakeHost, assignment


async def enter(host: FakeHost, fn: Any, *, undo: str | None = None, lease: int = 2) -> Answer:
    """One pass through a body."""
    job = declare(fn, {"name": "j"})
    executor = LoopExecutor() if asyncio.iscoroutinefunction(fn) else ThreadExecutor()
    facts = assignment("j", run_id=412, lease=lease, undo=undo)
    return await executor.carry_out(job, facts, host)


async def to_the_end(host: FakeHost, fn: Any) -> tuple[Answer, list[Parked]]:
    """Enter a body again whenever it wakes; what it came to, and its waits."""
    waits: list[Parked] = []
    for _ in range(1000):
        answer = await enter(host, fn)
        if not isinstance(answer, Parked) or answer.seconds is None:
            return answer, waits
        waits.append(answer)
        host.clock += answer.seconds
    raise AssertionError("it never ends")
