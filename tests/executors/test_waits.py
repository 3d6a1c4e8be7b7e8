from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from koken.define.asynccontext import AsyncContext
from koken.define.context import Context
from koken.define.job import declare
from koken.executors.base import Broken, Parked, Raised, Returned, Stopped
from koken.model.states import State
from tests.executors.hosts import FakeHost
from tests.executors.passes import enter, to_the_end
from tests.executors.runs import child_run
from tests.support.moments import until


async def test_a_sleep_leaves_the_body_and_is_over_once(host: FakeHost) -> None:
    passes: list[str] = []

    async def body(ctx: AsyncContext) -> str:
        passes.append("in")
        await ctx.sleep("12h")
        return "awake"

    assert await enter(host, body) == Parked("sleep", 43200.0, reason="waits for sleep 43200")
    host.clock = 43_199.0
    assert await enter(host, body) == Parked("sleep", 1.0, reason="waits for sleep 43200")
    host.clock = 43_200.0
    assert await enter(host, body) == Returned('"awake"')
    assert passes == ["in", "in", "in"]
    assert host.places == {"wait:1": 1}


async def test_def_bodies_wait_as_well(host: FakeHost) -> None:
    def body(ctx: Context) -> list[Any]:
        found = ctx.step("a", lambda: 1)
        ctx.sleep_until(datetime(1970, 1, 1, 0, 1, tzinfo=UTC))
        return [found, ctx.wait_signal("go", int)]

    assert await enter(host, body) == Parked(
        "sleep", 60.0, reason="waits for sleep until 1970-01-01T00:01:00+00:00"
    )
    host.clock = 61.0
    assert await enter(host, body) == Parked("signal", None, "go", reason="waits for signal go")
    host.came["go"] = [7, 8]
    assert await enter(host, body) == Returned("[1,7]")
    assert host.came["go"] == [8]


async def test_an_instant_is_aware(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> None:
        await ctx.sleep_until(datetime(2026, 3, 6))

    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.message == (
        "sleep_until(2026-03-06 00:00:00): say in which time zone that is"
    )


async def test_a_timeout_is_remembered(host: FakeHost) -> None:
    """What comes afterwards is for the next wait."""

    async def body(ctx: AsyncContext) -> list[Any]:
        found: list[Any] = []
        for _ in range(2):
            try:
                found.append(await ctx.wait_signal("go", int, timeout="5m"))
            except TimeoutError as error:
                found.append(str(error))
        return found

    assert await enter(host, body) == Parked("signal", 300.0, "go", reason="waits for signal go")
    host.clock = 300.0
    assert await enter(host, body) == Parked("signal", 300.0, "go", reason="waits for signal go")
    host.came["go"] = [7]
    assert await enter(host, body) == Returned("[\"no signal 'go' came within 5 min\",7]")


async def test_a_signal_of_another_type_is_passed_by(host: FakeHost) -> None:
    """It was sent before anybody waited: the body waits for the next one, as long as is left."""

    async def body(ctx: AsyncContext) -> int:
        return await ctx.wait_signal("go", int, timeout="5m") + await ctx.step("one", lambda: 1)

    host.came["go"] = ["seven"]
    answer = await enter(host, body)
    assert answer == Parked("signal", 300.0, "go", reason="waits for signal go")
    assert [(each.key, each.schema, each.before) for each in host.waits] == [
        ("wait:1", '{"type":"integer"}', ""),
        ("wait:1 again 2", '{"type":"integer"}', "wait:1"),
    ]
    assert host.waits[1].reason == "signal 'go': 'seven' is not a whole number."
    told = [
        "signal 'go': 'seven' is not a whole number. It is passed by, and the body goes on waiting"
    ]
    assert host.texts() == told
    host.clock = 100.0
    assert await enter(host, body) == Parked("signal", 200.0, "go", reason="waits for signal go")
    host.came["go"] = [7]
    assert await enter(host, body) == Returned("8")
    assert host.texts() == told
    assert host.places["step:one"] == 2


async def test_a_type_that_takes_what_was_passed_by(host: FakeHost) -> None:
    """A mended body has what came first."""

    async def narrow(ctx: AsyncContext) -> Any:
        return await ctx.wait_signal("go", int)

    async def wide(ctx: AsyncContext) -> Any:
        return await ctx.wait_signal("go", int | str)

    host.came["go"] = ["seven"]
    assert isinstance(await enter(host, narrow), Parked)
    assert await enter(host, wide) == Returned('"seven"')


async def test_a_signal_of_a_type_without_a_form(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> Any:
        return await ctx.wait_signal("go", object())

    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.type == "TypeError"
    assert answer.failure.message.startswith("wait_signal('go'): ")
    assert host.waits == []


async def test_a_question(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> bool:
        return await ctx.ask("Ship it?", bool, to="anna", timeout="1d")

    assert await enter(host, body) == Parked(
        "question", 86400.0, "wait:1", reason="waits for question Ship it?"
    )
    (asked,) = host.waits
    assert (asked.name, asked.to, asked.schema) == ("Ship it?", "anna", '{"type":"boolean"}')
    host.came["Ship it?"] = [True]
    assert await enter(host, body) == Returned("true")


async def test_waits_in_tasks_are_one(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> list[Any]:
        return list(
            await asyncio.gather(
                ctx.wait_signal("a", int, timeout="2m"), ctx.wait_signal("b", int, timeout="1m")
            )
        )

    answer = await enter(host, body)
    assert answer == Parked("signal", 60.0, "a\nb", reason="waits for signal a; waits for signal b")
    host.came = {"b": [2], "a": [1]}
    assert await enter(host, body) == Returned("[1,2]")


async def test_waits_of_several_kinds_are_looked_at_again(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> None:
        await asyncio.gather(ctx.wait_signal("a"), ctx.ask("b?"))

    answer = await enter(host, body)
    assert isinstance(answer, Parked)
    assert (answer.cause, answer.seconds, answer.wait_for) == ("signal", 15.0, "a")


async def test_a_task_group_is_left(host: FakeHost) -> None:
    async def branch(ctx: AsyncContext, number: int) -> int:
        await ctx.sleep(60 * number)
        return await ctx.step(f"s{number}", lambda: number)

    async def body(ctx: AsyncContext) -> list[int]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(branch(ctx, number)) for number in (1, 2)]
        return [task.result() for task in tasks]

    answer, waits = await to_the_end(host, body)
    assert answer == Returned("[1,2]")
    assert [each.seconds for each in waits] == [60.0, 60.0]


async def test_a_step_at_work_beside_a_wait_is_finished_first(host: FakeHost) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        begun.set()
        await gate.wait()
        return "done"

    async def body(ctx: AsyncContext) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.wait_signal("go"))
            group.create_task(ctx.step("work", work))

    passing = asyncio.create_task(enter(host, body))
    await begun.wait()
    await until(lambda: host.waits)
    assert not passing.done()
    gate.set()
    assert isinstance(await passing, Parked)
    assert host.kept["step:work"] == '"done"'


async def test_an_error_beside_a_wait_counts_more(host: FakeHost) -> None:
    gate = asyncio.Event()

    async def fail() -> None:
        await gate.wait()
        raise OSError("reset")

    async def body(ctx: AsyncContext) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.wait_signal("go"))
            group.create_task(ctx.step("work", fail))

    passing = asyncio.create_task(enter(host, body))
    await until(lambda: host.waits)
    gate.set()
    answer = await passing
    assert isinstance(answer, Raised)
    assert answer.failure.type == "ExceptionGroup"


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_body_that_swallows_its_leave_fails(host: FakeHost, goes_on: bool) -> None:
    async def body(ctx: AsyncContext) -> str:
        try:
            await ctx.sleep(60)
        except BaseException:
            if goes_on:
                await ctx.step("a", lambda: 1)
        return "went on"

    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.type == "Swallowed"
    assert answer.failure.message == (
        "the body was to be left here (waits for sleep 60), but it caught the exception that "
        "leaves it and went on. Let BaseException pass: catch Exception"
    )
    assert "step:a" not in host.kept


async def test_a_def_body_that_swallows_its_leave_fails(host: FakeHost) -> None:
    def body(ctx: Context) -> str:
        try:
            ctx.sleep(60)
        except BaseException:
            return "went on"
        return ""

    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.type == "Swallowed"


async def test_gather_that_returns_exceptions(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> int:
        return len(await asyncio.gather(ctx.wait_signal("a"), return_exceptions=True))

    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.type == "LeftBehind"


@pytest.mark.parametrize("moment", [1, 100])
async def test_a_body_that_returns_while_a_task_waits(host: FakeHost, moment: int) -> None:
    """Whether the task has just begun to wait, or was left already."""
    tasks: list[asyncio.Task[None]] = []

    async def body(ctx: AsyncContext) -> str:
        tasks.append(asyncio.create_task(ctx.sleep(60)))
        for _ in range(moment):
            await asyncio.sleep(0)
        return "done"

    answer = await enter(host, body)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(answer, Raised)
    assert answer.failure.type == "LeftBehind"
    assert answer.failure.message == (
        "the body returned while one of its tasks still waits (waits for sleep 60); await it, and "
        "let BaseException pass, by which it is left"
    )


@pytest.mark.parametrize("moment", [0, 1, 100])
async def test_a_wait_that_was_cancelled_is_none(host: FakeHost, moment: int) -> None:
    """Even if it was so at the last moment: a step beside it was faster."""
    gate = asyncio.Event()

    async def body(ctx: AsyncContext) -> str:
        task = asyncio.create_task(ctx.sleep(60))
        work = asyncio.create_task(ctx.step("work", gate.wait))
        for _ in range(moment):
            await asyncio.sleep(0)
        gate.set()
        await work
        task.cancel()
        return "faster"

    assert await enter(host, body) == Returned('"faster"')


async def test_a_task_that_was_awaited_may_have_waited(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> str:
        task = asyncio.create_task(ctx.sleep(60))
        await task
        return "done"

    answer, waits = await to_the_end(host, body)
    assert answer == Returned('"done"')
    assert [each.seconds for each in waits] == [60.0]


async def test_a_handled_error_is_the_same_after_a_wait(host: FakeHost) -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("reset")
        return "well"

    async def body(ctx: AsyncContext) -> str:
        try:
            found = await ctx.step("flaky", flaky)
        except OSError as error:
            found = str(error)
        await ctx.sleep(60)
        return found

    answer, _ = await to_the_end(host, body)
    assert answer == Returned('"reset"')
    assert tries == [1]


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError(f"{number} is odd")
        return number


async def test_an_answer_that_is_none_of_its_type_is_asked_for_again(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> int:
        even = await ctx.ask("How many?", Even)
        return even.number + await ctx.step("one", lambda: 1)

    host.came = {"How many?": [{"number": 3}]}
    answer = await enter(host, body)
    assert answer == Parked(
        "question", None, "wait:1 again 2", reason="waits for question How many?"
    )
    assert host.waits[-1].name == "How many?"
    assert host.waits[-1].reason == ("answer to 'How many?'(number): 3: Value error, 3 is odd.")
    assert isinstance(await enter(host, body), Parked)
    host.came = {"How many?": [{"number": 4}]}
    assert await enter(host, body) == Returned("5")
    assert host.places["step:one"] == 2


async def test_a_question_of_several_lines_has_a_key_in_one(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> list[Any]:
        return list(await asyncio.gather(ctx.ask("a\nb?"), ctx.ask("long " * 1000)))

    answer = await enter(host, body)
    assert isinstance(answer, Parked)
    first, second = answer.wait_for.split("\n")
    assert first == "wait:question a\\nb?"
    assert len(second) < 500
    host.came = {"a\nb?": [1], "long " * 1000: [2]}
    assert await enter(host, body) == Returned("[1,2]")


@pytest.mark.parametrize("name", ["", "a\nb", 5, "n" * 201])
async def test_names_of_signals_are_checked_where_they_are_awaited(
    host: FakeHost, name: Any
) -> None:
    async def body(ctx: AsyncContext) -> None:
        await ctx.wait_signal(name)

    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.type == "ValueError"


def plus_one(n: int) -> int:
    return n + 1


@pytest.mark.parametrize("verb", ["checkpoints", "keep", "wait", "child", "open_children"])
@pytest.mark.parametrize("place", ["loop", "thread"])
async def test_a_database_that_is_away_is_not_the_bodys_error(
    host: FakeHost, verb: str, place: str
) -> None:
    """It leaves the body, past its own handlers, and spends the other budget."""
    host.children = {"any": child_run(7, State.READY)}
    host.away = verb
    kid = declare(plus_one, {"name": "kid"})

    async def many(ctx: AsyncContext) -> None:
        try:
            await ctx.step("a", lambda: 1)
            with contextlib.suppress(TimeoutError):
                await ctx.wait_signal("go", timeout=0)
            await ctx.map("m", kid, [1, 2])
        except Exception:
            host.log("error", "log", "went on")

    def one(ctx: Context) -> None:
        try:
            ctx.step("a", lambda: 1)
            with contextlib.suppress(TimeoutError):
                ctx.wait_signal("go", timeout=0)
            ctx.map("m", kid, [1, 2])
        except Exception:
            host.log("error", "log", "went on")

    answer = await enter(host, many if place == "loop" else one)
    assert isinstance(answer, Broken)
    assert answer.failure.type == "DatabaseUnreachable"
    assert host.lines == []


async def test_a_body_that_is_to_stop_while_the_database_is_away(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> None:
        host.away, host.wanted = "keep", ""
        await ctx.step("a", stop)

    def stop() -> int:
        host.wanted = "shutdown"
        return 1

    assert await enter(host, body) == Stopped("shutdown")


async def test_an_error_of_a_host_beside_a_wait_counts_more(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.sleep(60))
            group.create_task(ctx.step("a", lambda: 1))

    host.away = "keep"
    assert isinstance(await enter(host, body), Broken)
