"""A worker stops in the middle of an undo: another one goes on with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import koken
from koken.config import load
from koken.runtime.worker import Worker
from tests.support.invariants import BROKEN, assert_sound
from tests.support.moments import until

PARTS = "select step, state from koken.run where parent_id = $1 order by step_no"

HELD = "select id from koken.run where state = 'running' or infra_attempt > 0 or attempt > 1"


class Stop:
    """The place at which a body hangs, once, until its worker stops it."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.reached = asyncio.Event()

    async def here(self) -> None:
        """Hang; whoever comes by again goes on."""
        if not self.reached.is_set():
            self.reached.set()
            await asyncio.Event().wait()


def worker_of(app: koken.App) -> Worker:
    """A worker of ``app`` with a few slots."""
    return Worker(app, load({**app.settings, "worker": {"queues": {"default": 5}}}))


async def stopped_there(app: koken.App, job: koken.Job[..., Any], stop: Stop) -> koken.Run[Any]:
    """The run of a job whose first worker stops at that place, when it has ended with another."""
    first, second = worker_of(app), worker_of(app)
    async with koken.AsyncClient(app) as client:
        rows = client.link.db.run

        async def sound() -> None:
            assert_sound(await rows(lambda tx: tx.fetch_text(BROKEN)))

        run = await client.start(job)
        await first.start()
        await until(stop.reached.is_set)
        await sound()
        await first.stop(grace=0)
        assert await rows(lambda tx: tx.fetch_text(HELD)) == []
        await sound()
        assert not (await client.get(run)).state.ended
        await second.start()
        try:
            found = await client.wait(run, timeout="30s")
        finally:
            await second.stop()
        await sound()
        parts = await rows(lambda tx: tx.fetch_text(PARTS, found.id))
        stop.seen += [f"{part['step']} {part['state']}" for part in parts]
    return found


async def test_in_the_steps_that_undo_a_workflow(database_url: str) -> None:
    app = koken.App("handed over", database_url=database_url)
    flow = app.workflow("flow")
    stop = Stop()

    def undone(name: str) -> Any:
        async def undo() -> None:
            if name == "b":
                await stop.here()
            stop.seen.append(f"undo {name}")

        return undo

    for before, name in ((None, "a"), ("a", "b"), ("b", "c")):
        step = flow.step(lambda: None, name=name, after=[before] if before else [])
        step.compensate(undone(name))

    @flow.step(after=["c"])
    def last() -> None:
        raise koken.Fail("broken")

    run = await stopped_there(app, flow, stop)
    assert (run.state, run.reason) == ("failed", "StepFailed: step last: broken")
    assert stop.seen == [
        "undo c",
        "undo b",
        "undo a",
        "a succeeded",
        "b succeeded",
        "c succeeded",
        "last failed",
        "undo c succeeded",
        "undo b succeeded",
        "undo a succeeded",
    ]


@pytest.mark.parametrize("end", ["fails", "is cancelled"])
async def test_in_the_pass_that_finds_what_is_to_be_undone(database_url: str, end: str) -> None:
    """The body is entered once more, to say what it has to undo, and is stopped there."""
    app = koken.App("handed over", database_url=database_url)
    stop = Stop()
    entered: list[int] = []

    def undo(name: str) -> Any:
        return lambda _: stop.seen.append(f"undo {name}")

    @app.job
    async def job(ctx: koken.AsyncContext) -> None:
        entered.append(1)
        await ctx.using(compensate=undo("a")).step("a", int, 1)
        if len(entered) > 1:
            await stop.here()
        await ctx.using(compensate=undo("b")).step("b", int, 2)
        if end == "fails":
            raise koken.Fail("broken")
        raise koken.Cancel("given up")

    run = await stopped_there(app, job, stop)
    ended = ("failed", "broken") if end == "fails" else ("cancelled", "given up")
    assert (run.state, run.reason) == ended
    assert stop.seen == ["undo b", "undo a", "undo b succeeded", "undo a succeeded"]


async def test_in_what_undoes_a_step_of_a_body(database_url: str) -> None:
    app = koken.App("handed over", database_url=database_url)
    stop = Stop()

    async def undo_b(_: int) -> None:
        await stop.here()
        stop.seen.append("undo b")

    @app.job
    async def job(ctx: koken.AsyncContext) -> None:
        await ctx.using(compensate=lambda _: stop.seen.append("undo a")).step("a", int, 1)
        await ctx.using(compensate=undo_b).step("b", int, 2)
        raise koken.Fail("broken")

    run = await stopped_there(app, job, stop)
    assert (run.state, run.reason) == ("failed", "broken")
    assert stop.seen == ["undo b", "undo a", "undo b succeeded", "undo a succeeded"]
