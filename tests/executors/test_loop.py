from __future__ import annotations

import asyncio
import gc

import pytest

import koken.model.outcome as outcome
from koken.define.asynccontext import AsyncContext
from koken.define.job import declare
from koken.executors.base import Raised, Returned, Stopped
from koken.executors.loop import LoopExecutor
from tests.executors.hosts import FakeHost, assignment
from tests.support.moments import until


@pytest.fixture
def executor() -> LoopExecutor:
    return LoopExecutor(grace=0.05)


async def test_a_result_is_json_text(executor: LoopExecutor, host: FakeHost) -> None:
    async def add(a: int, b: int = 2) -> int:
        return a + b

    assert await executor.carry_out(declare(add, {}), assignment(a=40), host) == Returned("42")


async def test_an_error_is_the_bodys(executor: LoopExecutor, host: FakeHost) -> None:
    async def broken() -> None:
        raise OSError(28, "No space left on device")

    answer = await executor.carry_out(declare(broken, {}), assignment(), host)

    assert isinstance(answer, Raised)
    assert answer.failure.type == "OSError"
    assert answer.failure.message == "[Errno 28] No space left on device"
    assert answer.kinds[0] == "builtins.OSError"
    assert isinstance(answer.error, OSError)
    assert "koken/executors" not in answer.failure.traceback


@pytest.mark.parametrize("raised", [True, False])
async def test_an_outcome_is_obeyed(executor: LoopExecutor, host: FakeHost, raised: bool) -> None:
    async def body() -> int | outcome.Snooze:
        snooze = outcome.Snooze("15m", "the file is not there yet")
        if raised:
            raise snooze
        return snooze

    answer = await executor.carry_out(declare(body, {}), assignment(), host)

    assert isinstance(answer, outcome.Snooze)
    assert (answer.after, answer.reason) == (900.0, "the file is not there yet")


async def test_an_outcome_inside_a_task_group_is_obeyed(
    executor: LoopExecutor, host: FakeHost
) -> None:
    async def part() -> None:
        raise outcome.Skip("nothing to do")

    async def body() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(part())

    answer = await executor.carry_out(declare(body, {}), assignment(), host)

    assert isinstance(answer, outcome.Skip)
    assert answer.reason == "nothing to do"


async def test_time_is_up(executor: LoopExecutor, host: FakeHost) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    answer = await executor.carry_out(declare(hang, {}), assignment(timeout=0.01), host)

    assert answer == Stopped("timeout")
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_in_time(executor: LoopExecutor, host: FakeHost) -> None:
    async def quick() -> str:
        await asyncio.sleep(0)
        return "done"

    job = declare(quick, {})
    assert await executor.carry_out(job, assignment(timeout=10), host) == Returned('"done"')


@pytest.mark.parametrize("why", ["cancel", "shutdown", "lost"])
async def test_stop(executor: LoopExecutor, host: FakeHost, why: str) -> None:
    tidied = []

    async def hang(ctx: AsyncContext) -> None:
        ctx.progress(1)
        try:
            await asyncio.Event().wait()
        finally:
            tidied.append(ctx.cancelled)

    run = assignment()
    going = asyncio.create_task(executor.carry_out(declare(hang, {}), run, host))
    await until(lambda: host.shown)
    await executor.stop(run.run_id, why)
    await executor.stop(run.run_id, "the second reason does not count")

    assert await going == Stopped(why)
    assert tidied == [True]
    await executor.stop(run.run_id, "harmless afterwards")


async def test_a_swallowed_cancellation(executor: LoopExecutor, host: FakeHost) -> None:
    """The body goes on after the cancellation, and ends at a later await."""
    swallowed = 0

    async def stubborn() -> str:
        nonlocal swallowed
        while swallowed < 3:
            try:
                await asyncio.Event().wait()
            except BaseException:
                swallowed += 1
        return "done"

    answer = await executor.carry_out(declare(stubborn, {}), assignment(timeout=0.01), host)

    assert answer == Stopped("timeout", "it returned after that; the result was thrown away")
    assert swallowed == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_body_that_never_leaves_is_dropped(executor: LoopExecutor, host: FakeHost) -> None:
    async def immortal() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except BaseException:
                host.log("info", "log", "swallowed")

    answer = await executor.carry_out(declare(immortal, {}), assignment(timeout=0.01), host)

    assert answer == Stopped("timeout", "the body kept swallowing its cancellation and was dropped")
    assert 0 < len(host.lines) < 200
    gc.collect()  # its remains complain here, and not in another test


async def test_the_body_s_own_cancellation_is_an_error(
    executor: LoopExecutor, host: FakeHost
) -> None:
    async def body() -> None:
        task = asyncio.create_task(asyncio.sleep(60))
        task.cancel()
        await task

    answer = await executor.carry_out(declare(body, {}), assignment(), host)

    assert isinstance(answer, Raised)
    assert answer.failure.type == "CancelledError"


async def test_a_cancellation_from_outside_goes_through(
    executor: LoopExecutor, host: FakeHost
) -> None:
    async def hang(ctx: AsyncContext) -> None:
        ctx.progress(1)
        await asyncio.Event().wait()

    going = asyncio.create_task(executor.carry_out(declare(hang, {}), assignment(), host))
    await until(lambda: host.shown)
    going.cancel()

    with pytest.raises(asyncio.CancelledError):
        await going
    assert executor.under_way == {}


async def test_a_stop_before_the_first_await(executor: LoopExecutor, host: FakeHost) -> None:
    """Its cancellation is on the task but not delivered; it must not hit the caller."""
    run = assignment()

    async def body() -> str:
        await executor.stop(run.run_id, "cancel")
        return "done"

    answer = await executor.carry_out(declare(body, {}), run, host)
    await asyncio.sleep(0)

    assert answer == Stopped("cancel", "it returned after that; the result was thrown away")


async def test_arguments_that_no_longer_fit(executor: LoopExecutor, host: FakeHost) -> None:
    async def body(a: int) -> None: ...

    answer = await executor.carry_out(declare(body, {}), assignment(a="yesterday"), host)

    assert isinstance(answer, Raised)
    assert answer.failure.type == "InvalidArguments"
