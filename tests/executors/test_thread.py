from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

import koken.model.outcome as outcome
from koken.define.context import Context
from koken.define.job import declare
from koken.executors import Command
from koken.executors.base import Raised, Returned, Stopped
from koken.executors.thread import ThreadExecutor
from tests.executors.hosts import FakeHost, assignment
from tests.support.moments import until


@pytest.fixture
async def executor() -> ThreadExecutor:
    return ThreadExecutor(grace=0.2, patience=0.05)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Something that a body waits for where no exception reaches it; opened at the end."""
    gate = threading.Event()
    yield gate
    gate.set()


async def test_a_result_is_json_text(executor: ThreadExecutor, host: FakeHost) -> None:
    def add(a: int, b: int = 2) -> int:
        return a + b

    assert await executor.carry_out(declare(add, {}), assignment(a=40), host) == Returned("42")


async def test_as_many_threads_as_bodies(executor: ThreadExecutor, host: FakeHost) -> None:
    meeting = threading.Barrier(20)

    def meet() -> None:
        meeting.wait(10)

    job = declare(meet, {})
    runs = [executor.carry_out(job, assignment(), host) for _ in range(20)]

    assert await asyncio.gather(*runs) == [Returned("null")] * 20


async def test_threads_are_used_again_and_end(executor: ThreadExecutor, host: FakeHost) -> None:
    seen = set()

    def body() -> None:
        seen.add(threading.current_thread())

    for _ in range(3):
        await executor.carry_out(declare(body, {}), assignment(), host)
        await until(lambda: executor.idle)
    await executor.close()

    (thread,) = seen
    await until(lambda: not thread.is_alive())


@pytest.mark.parametrize("why", ["cancel", "shutdown", "lost"])
async def test_the_context_tells_to_stop(
    executor: ThreadExecutor, host: FakeHost, why: str
) -> None:
    executor.patience = 60

    def body(ctx: Context) -> None:
        while True:
            ctx.heartbeat()
            host.progress(1, "going")
            time.sleep(0.001)

    run = assignment()
    going = asyncio.create_task(executor.carry_out(declare(body, {}), run, host))
    await until(lambda: host.shown)
    await executor.stop(run.run_id, why)

    assert await going == Stopped(why)


async def test_the_host_tells_to_stop(executor: ThreadExecutor, host: FakeHost) -> None:
    def body(ctx: Context) -> str:
        host.wanted = "lost"
        ctx.heartbeat()
        return "not reached"

    assert await executor.carry_out(declare(body, {}), assignment(), host) == Stopped("lost")


async def test_a_cancel_can_be_caught_to_tidy_up(executor: ThreadExecutor, host: FakeHost) -> None:
    tidied = []

    def body(ctx: Context) -> None:
        host.wanted = "cancel"
        try:
            ctx.heartbeat()
        except outcome.Cancel:
            tidied.append("draft")
            raise

    assert await executor.carry_out(declare(body, {}), assignment(), host) == Stopped("cancel")
    assert tidied == ["draft"]


async def test_a_body_that_asks_and_returns_was_stopped(
    executor: ThreadExecutor, host: FakeHost
) -> None:
    def body(ctx: Context) -> str:
        host.wanted = "shutdown"
        return "half" if ctx.cancelled else "whole"

    answer = await executor.carry_out(declare(body, {}), assignment(), host)

    assert answer == Stopped("shutdown", "it returned after that; the result was thrown away")


async def test_a_result_that_came_before_the_stop_was_seen_stands(
    executor: ThreadExecutor, host: FakeHost, gate: threading.Event
) -> None:
    executor.patience = 60

    def body() -> str:
        host.progress(1, "going")
        gate.wait()
        return "done"

    run = assignment()
    going = asyncio.create_task(executor.carry_out(declare(body, {}), run, host))
    await until(lambda: host.shown)
    await executor.stop(run.run_id, "shutdown")
    gate.set()

    assert await going == Returned('"done"')


async def test_a_loop_in_python_is_left(executor: ThreadExecutor, host: FakeHost) -> None:
    left = []

    def spin() -> None:
        try:
            while True:
                time.sleep(0.001)
        finally:
            left.append(True)

    answer = await executor.carry_out(declare(spin, {}), assignment(timeout=0.01), host)

    assert answer == Stopped("timeout")
    assert left == [True]


async def test_a_swallowed_stop_comes_again(executor: ThreadExecutor, host: FakeHost) -> None:
    swallowed = []

    def body(ctx: Context) -> str:
        host.wanted = "cancel"
        for _ in range(3):
            try:
                ctx.step("once", list)
            except BaseException as error:
                swallowed.append(type(error).__name__)
        return "done"

    answer = await executor.carry_out(declare(body, {}), assignment(), host)

    assert swallowed == ["CancelStop"] * 3
    assert answer == Stopped("cancel", "it returned after that; the result was thrown away")


async def test_a_stuck_body_is_abandoned_and_named(
    executor: ThreadExecutor, host: FakeHost, gate: threading.Event
) -> None:
    later = []

    def stuck(ctx: Context) -> None:
        with suppress(BaseException):
            gate.wait()
        try:
            ctx.step("write", later.append, "too late")
        except BaseException as error:
            later.append(type(error).__name__)

    answer = await executor.carry_out(declare(stuck, {}), assignment(timeout=0.01), host)

    assert isinstance(answer, Stopped)
    assert answer.why == "timeout"
    assert answer.detail.startswith("koken-thread-")
    assert answer.detail.endswith(" could not be stopped and is still going")
    gate.set()
    assert await until(lambda: later) == ["Stop"]
    assert await executor.carry_out(declare(lambda: 1, {"name": "j"}), assignment(), host) == (
        Returned("1")
    )


async def test_what_was_given_up_goes_on_until_it_ends(
    executor: ThreadExecutor, host: FakeHost, gate: threading.Event
) -> None:
    def stuck() -> None:
        gate.wait()

    run = assignment(timeout=0.01)
    assert isinstance(await executor.carry_out(declare(stuck, {}), run, host), Stopped)
    assert executor.goes_on(run.run_id, run.lease)
    assert not executor.goes_on(run.run_id, run.lease + 1)
    gate.set()
    await until(lambda: not executor.goes_on(run.run_id, run.lease))


async def test_after_a_silence_no_body_is_given_up(
    executor: ThreadExecutor, host: FakeHost, gate: threading.Event
) -> None:
    """It may not run twice, and its run would go on elsewhere; another reason ends the patience."""

    def stuck() -> None:
        with suppress(BaseException):
            host.progress(1, "going")
            gate.wait()

    run = assignment()
    going = asyncio.create_task(executor.carry_out(declare(stuck, {}), run, host))
    await until(lambda: host.shown)
    loop = asyncio.get_running_loop()
    grace_over = loop.time() + executor.grace + executor.patience
    await executor.stop(run.run_id, "silence")
    await until(lambda: loop.time() > grace_over)
    assert not going.done()
    await executor.stop(run.run_id, "cancel")
    answer = await going
    assert isinstance(answer, Stopped)
    assert answer.why == "cancel"


async def test_nothing_is_raised_into_the_next_body(
    executor: ThreadExecutor, host: FakeHost
) -> None:
    """Stops that come just when a body ends neither kill the thread nor hit its next body."""
    executor.patience = 0

    def short() -> None:
        for _ in range(200):
            pass

    def calm() -> int:
        return sum(range(1000))

    for _ in range(300):
        run = assignment()
        going = asyncio.create_task(executor.carry_out(declare(short, {}), run, host))
        await asyncio.sleep(0)
        await executor.stop(run.run_id, "cancel")
        assert isinstance(await going, Returned | Stopped)
        assert await executor.carry_out(declare(calm, {}), assignment(), host) == Returned("499500")


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message for you")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a\x00b", "the result holds a NUL character (U+0000), which PostgreSQL cannot store"),
        ("\ud800", "the result holds a lone surrogate, which is no character"),
        (float("nan"), "the result is nan, which JSON has no form for"),
        ({1: {2: [float("-inf")]}}, "the result.1.2[0] is -inf, which JSON has no form for"),
        ("x" * 10_000_000, "the result is 10,000,002 bytes as JSON; the limit is 4,194,304. "),
        (threading.Lock(), "the result cannot be stored as JSON: Unable to serialize"),
    ],
)
async def test_poison_results(
    executor: ThreadExecutor, host: FakeHost, value: object, message: str
) -> None:
    answer = await executor.carry_out(declare(lambda: value, {"name": "j"}), assignment(), host)

    assert isinstance(answer, Raised)
    assert answer.failure.type == "Unstorable"
    assert answer.failure.message.startswith(message)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("NUL \x00, surrogate \ud800"), "NUL \\x00, surrogate \\ud800"),
        (ValueError("x" * 3_000_000), "x" * 10_000 + "… (cut: 3,000,000 characters)"),
        (Hostile(), "<Hostile whose message cannot be shown>"),
        (MemoryError(), ""),
        (KeyboardInterrupt(), ""),
    ],
)
async def test_poison_errors(
    executor: ThreadExecutor, host: FakeHost, error: BaseException, message: str
) -> None:
    def body() -> None:
        raise error

    answer = await executor.carry_out(declare(body, {}), assignment(), host)

    assert isinstance(answer, Raised)
    assert answer.failure.message == message
    assert "\x00" not in answer.failure.traceback
    assert len(answer.failure.traceback) < 100_000


async def test_sys_exit_is_the_bodys_failure(executor: ThreadExecutor, host: FakeHost) -> None:
    def body() -> None:
        raise SystemExit(3)

    answer = await executor.carry_out(declare(body, {}), assignment(), host)

    assert isinstance(answer, Raised)
    assert (answer.failure.type, answer.failure.message) == ("SystemExit", "3")


async def test_a_cancellation_from_outside_asks_the_body_to_leave(
    executor: ThreadExecutor, host: FakeHost
) -> None:
    left = []

    def body() -> None:
        host.progress(1, "going")
        try:
            while True:
                time.sleep(0.001)
        finally:
            left.append(True)

    going = asyncio.create_task(executor.carry_out(declare(body, {}), assignment(), host))
    await until(lambda: host.shown)
    going.cancel()

    with pytest.raises(asyncio.CancelledError):
        await going
    assert await until(lambda: left) == [True]


async def test_a_body_that_is_no_function_is_the_declarations_fault(
    executor: ThreadExecutor, host: FakeHost
) -> None:
    job = declare(Command("true"), {"name": "command"})
    answer = await executor.carry_out(job, assignment(), host)

    assert isinstance(answer, Raised)
    assert answer.failure.type == "DeclarationError"
    assert answer.failure.message == (
        "the body of job 'command' is a Command, which a thread cannot carry out"
    )
