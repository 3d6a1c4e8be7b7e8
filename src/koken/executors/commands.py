"""Commands as steps of a body: carried out where the body is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from koken.define.body import Body
from koken.define.job import Job
from koken.executors.base import Answer, Broken, Raised, Remembered, Returned, Stopped
from koken.executors.command import Command
from koken.executors.commandexecutor import CommandExecutor
from koken.executors.targets import Item
from koken.executors.way import Way
from koken.model import codec
from koken.model.outcome import Outcome


async def result(way: Way, item: Item, body: Body, timeout: float | None) -> Any:
    """What a command came to. Raises why it failed."""
    whole = body.named(item.name)
    plain = whole.bind(item.args, item.kwargs or {})
    if not isinstance(body, Command):
        raise TypeError(f"step {item.name!r}: a {type(body).__name__} is not carried out here")
    job: Job[..., Any] = Job(item.name, body=whole, given={})
    facts = replace(way.assignment, args=plain, timeout=timeout)

    async def work() -> Answer:
        executor = CommandExecutor()
        try:
            return await executor.carry_out(job, facts, way.host)
        finally:
            await executor.close()

    with way.working():
        answer = await way.hands.carry(work(), way)
    match answer:
        case Returned(text):
            return whole.load(codec.decode(text))
        case Outcome():
            raise answer
        case Raised(failure, kinds, error):
            raise error or Remembered(failure, kinds)
        case Broken():
            await way.leave(answer)
        case Stopped(why):
            raise TimeoutError(f"step {item.name!r} was stopped: {why}")
    raise AssertionError(f"no command answers {answer!r}")
