"""Steps with rules of their own, maps, children, undoing: with a host that is none."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from koken.define.asynccontext import AsyncContext
from koken.define.context import Context
from koken.define.job import declare
from koken.errors import DeclarationError, RunFailed
from koken.executors.base import Parked, Raised, Returned, Undoing
from koken.executors.command import Command
from koken.executors.failures import NEVER_AGAIN
from koken.model.accept import Accept
from koken.model.policy import Backoff
from koken.model.states import State
from tests.executors.hosts import FakeHost
from tests.executors.passes import enter, to_the_end
from tests.executors.runs import child_run

MINUTE = Backoff("fixed", base="1m", jitter=0)


class Flaky:
    """Fails so many times."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise OSError(f"try {self.calls}")
        return 7


async def test_tries_of_a_step_spend_no_attempt(host: FakeHost) -> None:
    flaky = Flaky(2)

    async def body(ctx: AsyncContext) -> int:
        return await ctx.using(max_attempts=3, backoff=MINUTE).step("read", flaky)

    answer, waits = await to_the_end(host, body)
    assert answer == Returned("7")
    assert waits == [
        Parked("retry", 60.0, "read", None, "step 'read' failed (OSError: try 1); try 2 follows"),
        Parked("retry", 60.0, "read", None, "step 'read' failed (OSError: try 2); try 3 follows"),
    ]


async def test_the_last_try_is_the_attempts(host: FakeHost) -> None:
    flaky = Flaky(3)

    def body(ctx: Context) -> int:
        return ctx.using(max_attempts=2, backoff="1m").step("read", flaky)

    answer, waits = await to_the_end(host, body)
    assert isinstance(answer, Raised)
    assert (answer.failure.type, answer.failure.message) == ("OSError", "try 2")
    assert len(waits) == 1
    host.spent += 1
    answer, waits = await to_the_end(host, body)
    assert answer == Returned("7")
    assert flaky.calls == 4


async def test_woken_too_early_it_waits_for_the_rest(host: FakeHost) -> None:
    flaky = Flaky(1)

    async def body(ctx: AsyncContext) -> int:
        return await ctx.using(max_attempts=2, backoff=MINUTE).step("read", flaky)

    await enter(host, body)
    host.clock += 20
    answer = await enter(host, body)
    assert isinstance(answer, Parked)
    assert (answer.seconds, flaky.calls) == (40.0, 1)


async def test_never_retry_fails_the_run_at_once(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> int:
        rules = ctx.using(max_attempts=5, never_retry=OSError)
        return await rules.step("read", Flaky(1))

    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert NEVER_AGAIN in answer.kinds


async def test_a_step_that_takes_too_long(host: FakeHost) -> None:
    def hang() -> None:
        stop.wait(20)

    def body(ctx: Context) -> None:
        ctx.using(timeout="20ms").step("hang", hang)

    async def body_async(ctx: AsyncContext) -> None:
        await ctx.using(timeout="20ms").step("hang", stop.wait, 20)

    stop = threading.Event()
    for each in (body, body_async):
        answer = await enter(host, each)
        assert isinstance(answer, Raised)
        assert answer.failure.type == "TimeoutError"
    stop.set()


async def test_options_are_checked(host: FakeHost) -> None:
    async def misspelt(ctx: AsyncContext) -> None:
        ctx.using(max_atempts=3)  # type: ignore[call-arg]

    async def wrong(ctx: AsyncContext) -> None:
        ctx.using(max_attempts=0)

    answer = await enter(host, misspelt)
    assert isinstance(answer, Raised)
    assert answer.failure.message == (
        'using() has no option "max_atempts"; did you mean "max_attempts"?'
    )
    answer = await enter(host, wrong)
    assert isinstance(answer, Raised)
    assert answer.kinds[0] == f"{DeclarationError.__module__}.DeclarationError"


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_map_keeps_each_result(host: FakeHost, is_async: bool) -> None:
    calls: list[int] = []

    def double(item: int) -> int:
        calls.append(item)
        if item == 3 and calls.count(3) == 1:
            raise OSError("three")
        return item * 2

    def body(ctx: Context) -> list[int]:
        return ctx.map("double", double, range(5), at_once=2)

    async def body_async(ctx: AsyncContext) -> list[int]:
        return await ctx.map("double", double, range(5), at_once=2)

    fn: Any = body_async if is_async else body
    answer = await enter(host, fn)
    assert isinstance(answer, Raised)
    assert answer.failure.message == "three"
    assert sorted(calls) == [0, 1, 2, 3, 4]
    host.spent += 1
    assert await enter(host, fn) == Returned("[0,2,4,6,8]")
    assert sorted(calls) == [0, 1, 2, 3, 3, 4]
    assert {key: text for key, text in host.kept.items() if key.startswith("step:")} == {
        "step:double[0]": "0",
        "step:double[1]": "2",
        "step:double[2]": "4",
        "step:double[3]": "6",
        "step:double[4]": "8",
    }
    assert host.kept["map:double"] == '{"items":5}'


async def test_a_map_has_so_many_at_once(host: FakeHost) -> None:
    going, most = 0, 0
    lock = threading.Lock()
    gate = threading.Barrier(3, timeout=20)

    def one(item: int) -> None:
        nonlocal going, most
        with lock:
            going += 1
            most = max(most, going)
        gate.wait()
        with lock:
            going -= 1

    def body(ctx: Context) -> None:
        ctx.map("one", one, range(6), at_once=3)

    assert await enter(host, body) == Returned("null")
    assert most == 3


async def test_misses_that_are_accepted(host: FakeHost) -> None:
    calls: list[int] = []

    def odd(item: int) -> int:
        calls.append(item)
        if item % 2 == 0:
            raise OSError(f"{item} is even")
        return item

    async def body(ctx: AsyncContext) -> list[int]:
        found = await ctx.map("odd", odd, range(5), accept=Accept(0.4))
        await ctx.sleep(60)
        return found

    answer, _ = await to_the_end(host, body)
    assert answer == Returned("[1,3]")
    assert sorted(calls) == [0, 1, 2, 3, 4]
    last = {line.no: (line.state, line.error) for line in host.ledger}
    assert last == {
        0: ("skipped", "OSError: 0 is even"),
        1: ("done", None),
        2: ("skipped", "OSError: 2 is even"),
        3: ("done", None),
        4: ("skipped", "OSError: 4 is even"),
    }


async def test_too_many_misses(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> list[int]:
        return await ctx.map("none", len, [], accept=Accept(0.5))

    async def bad(ctx: AsyncContext) -> list[float]:
        return await ctx.map("div", divide, [1, 0, 0], accept=Accept(0.5))

    def divide(item: int) -> float:
        return 1 / item

    assert await enter(host, body) == Returned("[]")
    answer = await enter(FakeHost(), bad)
    assert isinstance(answer, Raised)
    assert answer.failure.type == "ZeroDivisionError"


async def test_a_map_of_bodies_that_wait(host: FakeHost) -> None:
    """Their own steps wait inside; others go on meanwhile."""

    async def body(ctx: AsyncContext) -> list[int]:
        async def one(item: int) -> int:
            await ctx.step(f"before {item}", lambda: item)
            await ctx.wait_signal(f"go {item}")
            return await ctx.step(f"after {item}", lambda: item * 10)

        return await ctx.map("one", one, [1, 2])

    answer = await enter(host, body)
    assert isinstance(answer, Parked)
    assert answer.wait_for == "go 1\ngo 2"
    host.came = {"go 1": [None], "go 2": [None]}
    assert await enter(host, body) == Returned("[10,20]")


async def test_a_command_in_a_step(host: FakeHost) -> None:
    command = Command("sh -c 'echo loaded {month}; exit 0'")

    async def body(ctx: AsyncContext) -> Any:
        return await ctx.step("load", command, month="2026-03")

    def body_in_a_thread(ctx: Context) -> Any:
        return ctx.step("load", command, month="2026-04")

    assert await enter(host, body) == Returned('{"exit_code":0}')
    assert await enter(FakeHost(), body_in_a_thread) == Returned('{"exit_code":0}')
    assert host.texts("stdout") == ["loaded 2026-03"]


async def test_a_command_that_fails(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> Any:
        return await ctx.step("load", Command(["sh", "-c", "echo no disk >&2; exit 3"]))

    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.type == "CommandFailed"
    assert "no disk" in answer.failure.message


# --- children -----------------------------------------------------------------------------------


def kid_fn(n: int) -> list[int]:
    return [n]


kid = declare(kid_fn, {"name": "kid"})


async def parent(ctx: AsyncContext) -> list[int]:
    return await ctx.step("make", kid, 5)


async def test_a_child_is_waited_for(host: FakeHost) -> None:
    host.children["child:make"] = child_run(413, State.READY)
    assert await enter(host, parent) == Parked("children", None, "413", 1, "waits for kid 413")
    host.children["child:make"] = child_run(413, State.SUCCEEDED, [5])
    assert await enter(host, parent) == Returned("[5]")
    assert [(each.step, each.job, each.args) for each in host.asked] == [
        ("make", "kid", {"n": 5}),
        ("make", "kid", {"n": 5}),
    ]
    assert await enter(host, parent) == Returned("[5]")
    assert len(host.asked) == 2


async def test_a_child_that_failed(host: FakeHost) -> None:
    async def handles(ctx: AsyncContext) -> str:
        try:
            await ctx.step("make", kid, 5)
        except RunFailed as error:
            return f"{error.run.id}: {error}"
        return ""

    host.children["child:make"] = child_run(413, State.FAILED)
    answer = await enter(host, parent)
    assert isinstance(answer, Raised)
    assert answer.kinds[0] == "koken.errors.RunFailed"
    assert await enter(host, handles) == Returned('"413: run 413 of kid failed: OSError: reset"')
    assert [each.spent for each in host.asked] == [0, 0]


async def test_children_in_a_map_are_looked_at_together(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> list[list[int]]:
        return await ctx.map("make", kid, [1, 2])

    host.children = {
        "child:make[0]": child_run(413, State.RUNNING),
        "child:make[1]": child_run(414, State.RUNNING),
    }
    answer = await enter(host, body)
    assert answer == Parked("children", None, "413\n414", 2, "waits for kid 413; waits for kid 414")
    host.children["child:make[1]"] = child_run(414, State.SUCCEEDED, [2])
    answer = await enter(host, body)
    assert answer == Parked("children", None, "413", 1, "waits for kid 413")
    host.children["child:make[0]"] = child_run(413, State.SUCCEEDED, [1])
    assert await enter(host, body) == Returned("[[1],[2]]")
    assert [each.step for each in host.asked[:2]] == ["make[0]", "make[1]"]


async def test_a_child_that_nobody_waits_for(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> int:
        return (await ctx.start(kid, 5)).id + (await ctx.start(kid, n=5)).id

    host.children["any"] = child_run(413, State.READY)
    assert await enter(host, body) == Returned("826")
    first, second = host.asked
    assert (first.step, first.spent) == (None, None)
    assert first.key == second.key


# --- undoing ------------------------------------------------------------------------------------


async def test_what_is_to_be_undone(host: FakeHost) -> None:
    undone: list[str] = []

    async def body(ctx: AsyncContext) -> None:
        undo = ctx.using(compensate=undone.append)
        await undo.step("a", lambda: "a")
        await undo.map("m", str, [1, 2])
        await ctx.step("not this", lambda: "x")
        await undo.step("b", lambda: "b")
        raise OSError("reset")

    assert isinstance(await enter(host, body), Raised)
    assert host.unwind
    assert await enter(host, body, undo="*") == Undoing(("a", "m[0]", "m[1]", "b"))
    assert undone == []
    for name in ("b", "m[1]", "m[0]", "a"):
        assert await enter(host, body, undo=name) == Returned("null")
    assert undone == ["b", "2", "1", "a"]


async def test_an_undo_that_fails_and_one_that_is_gone(host: FakeHost) -> None:
    def fail(result: str) -> None:
        raise ValueError(f"cannot undo {result}")

    def body(ctx: Context) -> None:
        ctx.using(compensate=fail).step("a", lambda: "a")

    def without(ctx: Context) -> None:
        ctx.step("a", lambda: "a")

    await enter(host, body)
    answer = await enter(host, body, undo="a")
    assert isinstance(answer, Raised)
    assert answer.failure.message == "cannot undo a"
    answer = await enter(host, without, undo="a")
    assert isinstance(answer, Raised)
    assert answer.failure.message == (
        "j: what undoes step 'a' of run 412 is not found: the body does not come by that "
        "step, or not with compensate=, any more"
    )


async def test_nothing_new_is_begun_when_undoing(host: FakeHost) -> None:
    calls: list[str] = []

    async def body(ctx: AsyncContext) -> None:
        await ctx.step("a", calls.append, "a")
        await ctx.sleep(60)
        await ctx.step("b", calls.append, "b")

    await enter(host, body)
    waits = len(host.waits)
    assert await enter(host, body, undo="*") == Undoing(())
    assert (calls, len(host.waits)) == (["a"], waits)


async def test_a_body_that_is_undone_keeps_and_starts_nothing(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> None:
        await ctx.save("cursor", 1)
        child = await ctx.start(kid, 5)
        await ctx.using(compensate=print).step("a", lambda: child.id)
        await ctx.save("cursor", ctx.saved["cursor"] + 1)
        await ctx.start(kid, 6)

    host.children["any"] = child_run(413, State.RUNNING)
    await enter(host, body)
    first, second = host.asked
    host.kept |= {each.key: '{"run": 413, "spent": 0}' for each in (first, second)}
    assert await enter(host, body, undo="a") == Returned("null")
    assert host.kept["saved:cursor"] == "2"
    assert [each.known for each in host.asked[2:]] == [413]


# --- steps that may not run twice ----------------------------------------------------------------


async def test_an_unsafe_step_that_was_cut_short_is_not_repeated(host: FakeHost) -> None:
    calls: list[str] = []

    def pay() -> str:
        calls.append("pay")
        if len(calls) == 1:
            raise SystemExit("killed")
        return "paid"

    async def body(ctx: AsyncContext) -> str:
        return await ctx.using(effect="unsafe", max_attempts=3).step("pay", pay)

    await enter(host, body)
    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.message.startswith(
        "step 'pay' of run 412 had begun when its attempt was cut short"
    )
    assert NEVER_AGAIN in answer.kinds
    assert calls == ["pay"]
    host.spent += 1  # a person has looked, and tries again
    assert await enter(host, body) == Returned('"paid"')


async def test_an_unsafe_step_that_failed_by_itself_may_be_tried_again(host: FakeHost) -> None:
    flaky = Flaky(1)

    async def body(ctx: AsyncContext) -> int:
        return await ctx.using(effect="unsafe", max_attempts=2, backoff=MINUTE).step("pay", flaky)

    answer, waits = await to_the_end(host, body)
    assert answer == Returned("7")
    assert len(waits) == 1
