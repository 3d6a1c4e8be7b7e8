from __future__ import annotations

import asyncio
import enum
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import koken.model.outcome as outcome
from koken.errors import WorkflowChanged
from koken.executors.context import AsyncRunContext, RunContext
from koken.executors.stopping import Going, Stop
from koken.model.codec import Unstorable
from koken.model.runparts import TriggerKind
from tests.executors.hosts import FakeHost, assignment

Run = Callable[[Callable[[RunContext], Any]], Awaitable[Any]]


@dataclass
class Report:
    day: date
    page: Path


class Size(enum.Enum):
    BIG = "big"


@pytest.fixture
def context(host: FakeHost) -> RunContext:
    return RunContext.of(assignment("nightly"), host, Going())


@pytest.fixture
def inside(context: RunContext) -> Run:
    """Carries a function out in a thread, with the context, as a body would be."""
    return lambda body: asyncio.to_thread(body, context)


async def test_facts(context: RunContext) -> None:
    assert context.run_id == context.root_id
    assert (context.job, context.workspace, context.attempt) == ("nightly", "acme", 1)
    assert context.subject is None
    assert context.trigger.kind is TriggerKind.USER
    assert context.logical_time == datetime(2026, 11, 30, 19, tzinfo=UTC)
    assert context.log.name == "koken.job.nightly"
    assert not context.cancelled


async def test_progress(context: RunContext, host: FakeHost) -> None:
    context.progress(0)
    context.progress(90 * 2 / 3, "2 of 3 flights")
    context.progress(100, "NUL \x00, surrogate \ud800")

    assert host.shown == [(0, ""), (60, "2 of 3 flights"), (100, "NUL \\x00, surrogate \\ud800")]


@pytest.mark.parametrize("percent", [-1, 100.5, float("nan"), float("inf")])
async def test_progress_is_from_0_to_100(context: RunContext, percent: float) -> None:
    with pytest.raises(ValueError, match=f"progress is {percent}; it goes from 0 to 100"):
        context.progress(percent)


async def test_a_key_is_the_same_in_every_attempt(host: FakeHost) -> None:
    run = assignment("pay")
    first, second = (RunContext.of(run, host, Going()) for _ in range(2))
    other = RunContext.of(assignment("pay"), host, Going())

    assert first.key("order", 7) == second.key("order", 7)
    assert len({first.key(), first.key(7), first.key(7, 7), other.key(), other.key(7)}) == 5
    assert len(first.key()) == 32


async def test_a_step_is_carried_out_once(inside: Run, host: FakeHost) -> None:
    def read(day: date) -> Report:
        calls.append(day)
        return Report(day=day, page=Path("out.html"))

    calls: list[date] = []
    day = date(2026, 3, 6)

    first = await inside(lambda ctx: ctx.step("read", read, day))
    again = RunContext.of(assignment(), host, Going())
    second = await asyncio.to_thread(again.step, "read", read, day)

    assert first == second == Report(day=day, page=Path("out.html"))
    assert calls == [day]
    assert host.kept == {"step:read": '{"day":"2026-03-06","page":"out.html"}'}


async def test_the_value_that_stands_is_given(inside: Run, host: FakeHost) -> None:
    """Somebody kept one in the meantime: an attempt that was thought lost."""

    def late() -> str:
        host.kept["step:name"] = '"theirs"'
        return "ours"

    assert await inside(lambda ctx: ctx.step("name", late)) == "theirs"


async def test_a_failed_step_keeps_nothing(inside: Run, host: FakeHost) -> None:
    def fail() -> int:
        raise OSError("reset")

    with pytest.raises(OSError, match="reset"):
        await inside(lambda ctx: ctx.step("read", fail))
    assert host.kept == {}


async def test_an_outcome_of_a_step_leaves_the_body(inside: Run, host: FakeHost) -> None:
    def nothing() -> int | outcome.Skip:
        return outcome.Skip("no rows")

    with pytest.raises(outcome.Skip, match="no rows"):
        await inside(lambda ctx: ctx.step("read", nothing))
    assert host.kept == {}


async def test_a_name_is_unique(inside: Run) -> None:
    with pytest.raises(ValueError, match="step 'a' is used twice; the name of a step is unique"):
        await inside(lambda ctx: (ctx.step("a", list), ctx.step("a", list)))


async def test_an_unannotated_path_is_refused(inside: Run, host: FakeHost) -> None:
    def open(name):  # type: ignore[no-untyped-def]  # noqa: A001
        return Path(name)

    with pytest.raises(TypeError) as caught:
        await inside(lambda ctx: ctx.step("open", open, "a.txt"))

    assert str(caught.value) == (
        "step 'open' returned a Path and has no return annotation, so a replay would see str. "
        "Annotate it: def open(…) -> Path."
    )
    assert host.kept == {}


async def test_an_unannotated_part_is_refused(inside: Run) -> None:
    def rows():  # type: ignore[no-untyped-def]
        return {"a": [1, (2, 3)]}

    with pytest.raises(TypeError) as caught:
        await inside(lambda ctx: ctx.step("rows", rows))

    assert str(caught.value) == (
        "step 'rows' returned a dict that holds a tuple and has no return annotation, so a replay "
        "would see list. Annotate it: def rows(…) -> dict[…tuple…]."
    )


@pytest.mark.parametrize("value", [None, True, 7, 2**70, 1.5, "ä", [1, [2.0]], {"a": {"b": None}}])
async def test_plain_values_need_no_annotation(inside: Run, value: object) -> None:
    assert await inside(lambda ctx: ctx.step("value", lambda: value)) == value


async def test_annotations_that_are_not_plain(inside: Run) -> None:
    def size() -> Size:
        return Size.BIG

    def pair(first: int) -> tuple[int, date]:
        return first, date(2026, 3, 6)

    assert await inside(lambda ctx: ctx.step("size", size)) is Size.BIG
    found = await inside(lambda ctx: ctx.step("pair", functools.partial(pair, 4)))
    assert found == (4, date(2026, 3, 6))


async def test_a_result_that_is_not_as_annotated(inside: Run) -> None:
    def number() -> int:
        return "seven"  # type: ignore[return-value]

    with pytest.raises(TypeError, match=r"step 'number': the result is .*str, but .* -> int"):
        await inside(lambda ctx: ctx.step("number", number))


async def test_a_kept_value_that_no_longer_fits(inside: Run, host: FakeHost) -> None:
    def number() -> int:
        return 7

    host.kept["step:number"] = '"seven"'
    with pytest.raises(WorkflowChanged, match="step 'number': the value that an earlier attempt"):
        await inside(lambda ctx: ctx.step("number", number))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a\x00b", "holds a NUL character"),
        ("\ud800", "holds a lone surrogate"),
        (float("nan"), "is nan, which JSON has no form for"),
        (object(), "cannot be stored as JSON"),
        ("x" * 5_000_000, "is 5,000,002 bytes as JSON; the limit is 4,194,304"),
    ],
)
async def test_poison_is_refused(inside: Run, value: object, message: str) -> None:
    with pytest.raises(Unstorable, match=f"step 'poison': the result {message}"):
        await inside(lambda ctx: ctx.step("poison", lambda: value))
    with pytest.raises(Unstorable, match=f"the value saved as 'poison' {message}"):
        await inside(lambda ctx: ctx.save("poison", value))


async def test_saved(inside: Run, host: FakeHost) -> None:
    host.kept = {"saved:cursor": "41", "step:cursor": "1"}
    assert dict(await inside(lambda ctx: ctx.saved)) == {"cursor": 41}

    await inside(lambda ctx: ctx.save("cursor", 42))

    assert dict(await inside(lambda ctx: ctx.saved)) == {"cursor": 42}
    assert host.kept["saved:cursor"] == "42"
    with pytest.raises(TypeError):
        (await inside(lambda ctx: ctx.saved))["cursor"] = 43


async def test_a_lost_lease_leaves_the_body(inside: Run, host: FakeHost) -> None:
    host.lost = True

    def body(ctx: RunContext) -> None:
        try:
            ctx.save("cursor", 1)
        except Exception:
            pytest.fail("an except Exception swallowed it")

    with pytest.raises(Stop) as caught:
        await inside(body)
    assert caught.value.why == "lost"


async def test_an_async_step_in_a_plain_body(inside: Run) -> None:
    async def read() -> int:
        return 1

    with pytest.raises(TypeError, match="step 'read' is async def, but its body is def"):
        await inside(lambda ctx: ctx.step("read", read))


async def test_every_call_after_a_stop_raises(inside: Run, host: FakeHost) -> None:
    host.wanted = "cancel"
    for call in (
        lambda ctx: ctx.heartbeat(),
        lambda ctx: ctx.progress(1),
        lambda ctx: ctx.step("a", list),
        lambda ctx: ctx.save("a", 1),
    ):
        with pytest.raises(outcome.Cancel):
            await inside(call)
    host.wanted = ""
    with pytest.raises(Stop):
        await inside(lambda ctx: ctx.heartbeat())


async def test_async_steps(host: FakeHost) -> None:
    async def read(number: int) -> Path:
        return Path(str(number))

    def plain(number: int) -> Path:
        return Path(str(number))

    host.kept = {"saved:cursor": "41"}
    context = await AsyncRunContext.of(assignment(), host, Going())

    assert dict(context.saved) == {"cursor": 41}
    assert await context.step("read", read, 4) == Path("4")
    assert await context.step("plain", plain, number=5) == Path("5")
    assert await context.step("lambda", lambda: 6) == 6
    await context.save("cursor", 42)
    assert dict(context.saved) == {"cursor": 42}
    assert host.kept["step:read"] == '"4"'
    again = await AsyncRunContext.of(assignment(), host, Going())
    assert await again.step("read", read, 99) == Path("4")
    with pytest.raises(ValueError, match="used twice"):
        await again.step("read", read, 99)
