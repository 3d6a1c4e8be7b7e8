from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from pydantic import BaseModel

from koken import App, AsyncContext, Cancel, Context, Retry, Skip, Snooze
from koken.errors import InvalidArguments
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
