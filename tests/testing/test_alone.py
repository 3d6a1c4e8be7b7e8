from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from koken import App, AsyncContext, Cancel, Context, Operation, Retry, Skip, Snooze
from koken.define.job import declare
from koken.errors import InvalidArguments, RunFailed
from koken.executors import Command
from koken.model.codec import Unstorable
from koken.testing import call

app = App("alone")


class Report(BaseModel):
    day: date
    bad_rows: int


@app.job
def plain(day: date, rows: int = 4) -> Report:
    return Report(day=day, bad_rows=rows)


@app.job(subject="order:{order}", max_attempts=3)
def full(ctx: Context, order: int) -> list[str]:
    ctx.log.info("begins")
    ctx.progress(50, "half")
    ctx.heartbeat()
    doubled = ctx.step("double", lambda: order * 2)
    ctx.save("place", {"at": doubled})
    assert not ctx.cancelled
    return [ctx.job, str(ctx.subject), str(doubled), str(ctx.saved["place"]["at"]), ctx.key("x")]


async def triple(n: int) -> int:
    return n * 3


@app.job
async def awaits(ctx: AsyncContext, n: int) -> int:
    await ctx.save("n", n)
    return await ctx.step("triple", triple, int(ctx.saved["n"]))


@app.job
def answers(how: str) -> int | Skip:
    if how == "raise":
        raise Retry("later", after="5m")
    if how == "return":
        return Skip("nothing to do")
    raise LookupError(how)


def test_result_is_typed_and_arguments_checked() -> None:
    assert call(plain, date(2013, 1, 1)).bad_rows == 4
    assert call(plain, day=date(2013, 1, 1), rows=5) == Report(day=date(2013, 1, 1), bad_rows=5)
    with pytest.raises(InvalidArguments, match="'yesterday' is not a date"):
        call(plain, day="yesterday")  # type: ignore[arg-type]


def test_context_works_in_memory(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "koken.job")
    first, second = call(full, 7), call(full, order=7)
    assert first[:4] == ["full", "order:7", "14", "14"]
    assert first[:4] == second[:4]
    assert "begins" in caplog.text


def test_step_names_are_unique() -> None:
    @App("steps").job
    def twice(ctx: Context) -> None:
        ctx.step("a", int)
        ctx.step("a", int)

    with pytest.raises(ValueError, match="used twice"):
        call(twice)


def test_async_bodies_run_to_the_end() -> None:
    assert call(awaits, 5) == 15


async def test_async_bodies_run_to_the_end_beside_a_loop() -> None:
    assert call(awaits, 5) == 15


def test_outcomes_and_errors_are_raised() -> None:
    with pytest.raises(Retry, match="later") as raised:
        call(answers, "raise")
    assert raised.value.after == 300.0
    with pytest.raises(Skip, match="nothing to do"):
        call(answers, "return")
    with pytest.raises(LookupError, match="here"):
        call(answers, "here")


def test_logical_time_can_be_given() -> None:
    @app.job
    def when(ctx: Context) -> datetime:
        return ctx.logical_time

    noon = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
    assert call(when.using(logical_time=noon)) == noon
    assert call(when) > noon


def test_what_a_run_could_not_keep_is_refused() -> None:
    with pytest.raises(Unstorable):
        call(App("x").job(lambda: object(), name="odd"))
    with pytest.raises(TypeError, match="no function; run it by a TestClient"):
        call(App("x").job(Command("true"), name="shell"))


def test_bodies_may_wait_no_longer() -> None:
    @App("x").job
    def asleep() -> Snooze | Cancel | None:
        raise Snooze("1h")

    with pytest.raises(Snooze):
        call(asleep)


@app.job
async def durable(ctx: AsyncContext) -> list[Any]:
    await ctx.sleep("12h")
    child = await ctx.step("plain", plain, date(2026, 3, 6))
    word = await ctx.wait_signal("go", str, timeout="1h")
    fine = await ctx.ask("Fine?", bool)
    mapped = await ctx.map("triple", triple, [1, 2])
    elsewhere = await ctx.step("elsewhere", Slow(), 7)
    flaky = await ctx.using(max_attempts=3, backoff="1h").step("flaky", Flaky().go)
    return [child.bad_rows, word, fine, mapped, elsewhere, flaky]


class Slow(Operation[int, str, int]):
    def submit(self, item: int, key: str) -> str:
        return key

    def poll(self, item: int, handle: str) -> int | Snooze:
        polls.append(handle)
        return item if len(polls) == 3 else Snooze()


class Flaky:
    def go(self) -> str:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("reset")
        return "well"


polls: list[str] = []
tries: list[int] = []


@app.job
def waits(ctx: Context) -> str:
    return ctx.wait_signal("go", str, timeout="1h")


@app.job
def bad() -> None:
    raise OSError("reset")


@app.job
def child_fails(ctx: Context) -> str:
    try:
        ctx.step("child", bad)
    except RunFailed as error:
        return str(error)
    return ""


def test_a_child_that_fails() -> None:
    assert call(child_fails) == "run 2 of bad failed: OSError: reset"


def test_waits_return_at_once() -> None:
    found = call(durable, signals={"go": "now"}, answers={"Fine?": True})
    assert found == [4, "now", True, [3, 6], 7, "well"]
    assert len(set(polls)) == 1


def test_what_does_not_come_is_a_timeout() -> None:
    with pytest.raises(TimeoutError, match="no signal 'go' came within 1 h 00 min"):
        call(waits)


@app.job
async def waits_for_ever(ctx: AsyncContext, kind: str) -> Any:
    return await (ctx.wait_signal("paid", int) if kind == "signal" else ctx.ask("Fine?"))


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("signal", "no signal 'paid' comes; give call(…, signals={'paid': …})"),
        ("question", "nobody answers 'Fine?'; give call(…, answers={'Fine?': …})"),
    ],
)
def test_what_never_comes_is_to_be_given(kind: str, told: str) -> None:
    with pytest.raises(TimeoutError) as caught:
        call(waits_for_ever, kind)
    assert str(caught.value) == told


def test_a_given_signal_of_another_type() -> None:
    with pytest.raises(InvalidArguments, match="signal 'paid': 'xx' is not a whole number"):
        call(waits_for_ever, "signal", signals={"paid": "xx"})


def test_steps_of_workflows() -> None:
    flow = App("x").workflow("flow")

    @flow.step
    def rows(n: int = 2) -> list[int]:
        return list(range(n))

    @flow.step
    async def count(ctx: AsyncContext, rows: list[int]) -> str:
        return f"{ctx.job} {await ctx.step('length', len, rows)}"

    started = flow.step(plain, name="report", inputs={"rows": count})
    assert call(rows, 3) == [0, 1, 2]
    assert call(count, rows=[7, 8]) == "flow.count 2"
    assert call(started, date(2013, 1, 1), rows=1).bad_rows == 1
    with pytest.raises(InvalidArguments, match="rows"):
        call(count)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="no function"):
        call(flow)


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError(f"{number} is odd")
        return number


def test_an_answer_that_is_none_of_its_type_is_refused() -> None:
    def asks(ctx: Context) -> int:
        return ctx.ask("How many?", Even).number

    job = declare(asks, {"name": "asks"})
    assert call(job, answers={"How many?": {"number": 4}}) == 4
    with pytest.raises(InvalidArguments, match="3 is odd"):
        call(job, answers={"How many?": {"number": 3}})
