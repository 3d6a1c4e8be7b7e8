"""What a body that is entered again may not change: names, order, number of its steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from koken.define.asynccontext import AsyncContext
from koken.define.context import Context
from koken.define.job import declare
from koken.errors import WorkflowChanged
from koken.executors.base import Answer, Parked, Raised, Returned
from koken.executors.loop import LoopExecutor
from koken.executors.thread import ThreadExecutor
from tests.executors.hosts import FakeHost, assignment

Pass = Callable[[Any], Awaitable[Answer]]


@pytest.fixture
def enter(host: FakeHost) -> Pass:
    """One pass through a body."""

    async def carry(fn: Any) -> Answer:
        job = declare(fn, {"name": "nightly"})
        executor = LoopExecutor() if asyncio.iscoroutinefunction(fn) else ThreadExecutor()
        return await executor.carry_out(job, assignment("nightly", run_id=412, lease=2), host)

    return carry


def body(*names: str, fails: str = "") -> Any:
    """Comes by steps of these names."""

    async def steps(ctx: AsyncContext) -> list[str]:
        return [await ctx.step(name, given, name, name == fails) for name in names]

    return steps


def given(name: str, fails: bool) -> str:
    if fails:
        raise OSError(f"{name} failed")
    return name


def changed(answer: Answer) -> str:
    """The message with which a changed body is refused."""
    assert isinstance(answer, Raised)
    assert answer.kinds[0] == "koken.errors.WorkflowChanged"
    return answer.failure.message


async def test_the_same_steps_go_on(enter: Pass, host: FakeHost) -> None:
    await enter(body("a", "b", "c", fails="c"))
    assert await enter(body("a", "b", "c")) == Returned('["a","b","c"]')
    assert host.places == {"step:a": 1, "step:b": 2, "step:c": 3}


async def test_a_changed_step_of_a_workflow_starts_the_workflow_anew(host: FakeHost) -> None:
    facts = replace(assignment("nightly", run_id=413, lease=2), root_id=412, step="load")
    before = declare(body("a", "b", fails="b"), {"name": "nightly"})
    after = declare(body("x", "b"), {"name": "nightly"})
    await LoopExecutor().carry_out(before, facts, host)
    answer = await LoopExecutor().carry_out(after, facts, host)
    assert changed(answer).endswith("or start anew: koken rerun 412")


async def test_a_renamed_step(enter: Pass) -> None:
    await enter(body("a", "b", "c", fails="c"))
    assert changed(await enter(body("a", "x", "c"))) == (
        "nightly was changed while run 412 was on its way: place 2 has step 'b' on record, and the "
        "body comes to step 'x' there. Put the steps back as they were, or start anew: "
        "koken rerun 412"
    )


async def test_steps_in_another_order(enter: Pass, host: FakeHost) -> None:
    await enter(body("a", "b", "c", fails="c"))
    before = dict(host.kept)
    assert "place 1 has step 'a' on record, and the body comes to step 'b' there" in changed(
        await enter(body("b", "a", "c"))
    )
    assert host.kept == before


async def test_a_step_put_in_behind_what_is_recorded(enter: Pass) -> None:
    await enter(body("a", "b", fails="b"))
    assert await enter(body("a", "x", "b")) == Returned('["a","x","b"]')


async def test_a_step_put_in_before(enter: Pass) -> None:
    await enter(body("a", "b", "c", fails="c"))
    assert "place 2 has step 'b'" in changed(await enter(body("a", "x", "b", "c")))


async def test_a_step_that_was_taken_out(enter: Pass) -> None:
    await enter(body("a", "b", "c", fails="c"))
    assert "step 'b' is on record, and the body returned without it" in changed(
        await enter(body("a"))
    )


async def test_a_def_body_that_takes_steps_out(enter: Pass) -> None:
    def before(ctx: Context) -> None:
        ctx.step("a", given, "a", False)
        ctx.step("b", given, "b", True)

    def after(ctx: Context) -> str:
        return ctx.job

    await enter(before)
    assert "step 'a' is on record" in changed(await enter(after))


async def test_what_follows_an_error_has_no_place(enter: Pass, host: FakeHost) -> None:
    """Another attempt, in which the step goes well, does not come by the tidying up."""

    def before(ctx: Context) -> str:
        try:
            return ctx.step("b", given, "b", "b" not in tried and not tried.append("b"))
        except OSError:
            ctx.step("tidy", given, "tidy", False)
            raise

    tried: list[str] = []
    assert isinstance(await enter(before), Raised)
    assert host.places == {"step:tidy": 0}
    assert await enter(before) == Returned('"b"')


async def test_tasks_have_no_order(enter: Pass, host: FakeHost) -> None:
    async def both(ctx: AsyncContext) -> list[str]:
        names = order.pop()
        first = await ctx.step("first", given, "first", False)
        return [
            first,
            *await asyncio.gather(*(ctx.step(name, given, name, name == "c") for name in names)),
        ]

    order = [["b", "a"], ["a", "b", "c"]]
    assert isinstance(await enter(both), Raised)
    assert await enter(both) == Returned('["first","b","a"]')
    assert host.places == {"step:first": 1}


async def test_a_wait_of_another_kind(enter: Pass) -> None:
    async def sleeps(ctx: AsyncContext) -> None:
        await ctx.sleep(60)

    async def waits(ctx: AsyncContext) -> None:
        await ctx.wait_signal("go")

    assert await enter(sleeps) == Parked("sleep", 60.0, reason="waits for sleep 60")
    assert "the wait on record is for a sleep, and the body waits for signal 'go' there" in changed(
        await enter(waits)
    )


async def test_a_map_of_another_size(enter: Pass) -> None:
    async def several(ctx: AsyncContext) -> list[str]:
        def one(item: str) -> str:
            return given(item, item == "c")

        return await ctx.map("m", one, items)

    items = ["a", "b", "c"]
    assert isinstance(await enter(several), Raised)
    items = ["a", "b"]
    assert "map 'm' has 3 items on record, and the body gives 2" in changed(await enter(several))


async def test_a_name_is_unique_among_maps_and_steps(enter: Pass) -> None:
    async def twice(ctx: AsyncContext) -> None:
        await ctx.map("m", str, [1])
        await ctx.step("m", str, 1)

    answer = await enter(twice)
    assert isinstance(answer, Raised)
    assert answer.failure.message == (
        "step 'm' is used twice; the name of a step is unique in a run"
    )


def test_the_error_is_one_of_the_tree() -> None:
    assert WorkflowChanged.code == "workflow_changed"
