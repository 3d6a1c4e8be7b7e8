"""Operations elsewhere: looked for before they are submitted, submitted once, polled by nobody."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from koken.define.asynccontext import AsyncContext
from koken.define.context import Context
from koken.define.operation import Operation, Stall
from koken.errors import DeclarationError
from koken.executors.base import Parked, Raised, Returned, Undoing
from koken.model.outcome import Fail, Outcome, Retry, Snooze
from koken.model.policy import Backoff
from tests.executors.hosts import FakeHost
from tests.executors.passes import enter, to_the_end


class Elsewhere:
    """Another system: what it was told, and what it will answer."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.busy = 0
        self.known: dict[str, str] = {}
        """Handles of what has arrived, by key."""
        self.lost_answers = 0
        self.no_handles = 0
        self.says: Any = None

    def count(self, verb: str) -> int:
        return sum(called == verb for called, _ in self.calls)


there = Elsewhere()


class Draft(Operation[int, str, int]):
    every = "5m"
    within = "12h"
    stall = Stall(no_handle="30m", in_flight="1h", max_submits=3)

    async def find(self, item: int, key: str) -> str | None:
        there.calls.append(("find", key))
        return there.known.get(key)

    async def submit(self, item: int, key: str) -> str | None:
        there.calls.append(("submit", key))
        if there.no_handles:
            there.no_handles -= 1
            return None
        handle = f"h{there.count('submit')}"
        there.known[key] = handle
        if there.lost_answers:
            there.lost_answers -= 1
            raise ConnectionError("reset by peer")
        return handle

    async def poll(self, item: int, handle: str) -> int | Snooze | Fail:
        there.calls.append(("poll", handle))
        if isinstance(there.says, Exception | Outcome):
            said, there.says = there.says, None
            if isinstance(said, Exception):
                raise said
            return said  # type: ignore[return-value]
        if there.busy:
            there.busy -= 1
            return Snooze(reason="in flight")
        return item * 10

    async def cancel(self, item: int, handle: str) -> None:
        there.calls.append(("cancel", handle))


@pytest.fixture(autouse=True)
def elsewhere() -> Elsewhere:
    there.__init__()  # type: ignore[misc]
    return there


async def draft(ctx: AsyncContext) -> int:
    return await ctx.step("draft", Draft(), 7)


def verbs() -> list[str]:
    return [verb for verb, _ in there.calls]


async def test_polls_hold_no_worker(host: FakeHost) -> None:
    there.busy = 3
    answer, waits = await to_the_end(host, draft)

    assert answer == Returned("70")
    assert waits == [Parked("operation", 300.0, "draft", reason="draft is in flight")] * 3
    assert verbs() == ["find", "submit", "poll", "poll", "poll", "poll"]
    assert host.unwind
    assert [(line.state, line.submits, line.handle) for line in host.ledger] == [
        ("created", 0, None),
        ("created", 1, None),
        ("submitted", 1, '"h1"'),
        ("submitted", 1, '"h1"'),
        ("submitted", 1, '"h1"'),
        ("submitted", 1, '"h1"'),
        ("done", 1, '"h1"'),
    ]


async def test_twelve_hours_of_polls(host: FakeHost) -> None:
    """143 of them, which all stay below one hour in flight when it is submitted anew."""
    there.busy = 143

    class Patient(Draft):
        stall = Stall()

    async def body(ctx: AsyncContext) -> int:
        return await ctx.step("draft", Patient(), 7)

    answer, waits = await to_the_end(host, body)
    assert answer == Returned("70")
    assert len(waits) == 143
    assert host.clock == 143 * 300.0


async def test_def_bodies_have_operations_too(host: FakeHost) -> None:
    class Plain(Operation[int, int, str]):
        def submit(self, item: int, key: str) -> int:
            return item + 1

        def poll(self, item: int, handle: int) -> str:
            return f"{item}, {handle}"

    def body(ctx: Context) -> list[Any]:
        return [ctx.step("plain", Plain(), 1), ctx.step("async", Draft(), 2)]

    answer, _ = await to_the_end(host, body)
    assert answer == Returned('["1, 2",20]')


async def test_the_handle_is_on_record_before_the_first_poll(host: FakeHost) -> None:
    class Watched(Draft):
        async def poll(self, item: int, handle: str) -> int | Snooze | Fail:
            there.calls.append(("poll", host.kept["operation:draft"]))
            return 1

    async def body(ctx: AsyncContext) -> int:
        return await ctx.step("draft", Watched(), 7)

    await enter(host, body)
    (seen,) = [record for verb, record in there.calls if verb == "poll"]
    assert '"handle":"\\"h1\\""' in seen


async def test_a_lost_answer_to_submit_is_found_again(host: FakeHost) -> None:
    there.lost_answers = 1
    answer, waits = await to_the_end(host, draft)

    assert answer == Returned("70")
    assert verbs() == ["find", "submit", "find", "poll"]
    assert waits == [Parked("operation", 300.0, "draft", reason="draft has no handle yet")]
    assert "operation 'draft', submit: ConnectionError: reset by peer" in host.texts()


async def test_a_worker_killed_between_submit_and_record(host: FakeHost) -> None:
    """What was submitted is found, not submitted twice."""
    keep = host.keep

    async def dies(key: str, value: str, **more: Any) -> str:
        if key.startswith("operation:") and "h1" in value:
            raise SystemExit("killed")
        return await keep(key, value, **more)

    host.keep = dies  # type: ignore[method-assign]
    answer = await enter(host, draft)
    assert isinstance(answer, Raised)
    host.keep = keep  # type: ignore[method-assign]

    assert await enter(host, draft) == Returned("70")
    assert verbs() == ["find", "submit", "find", "poll"]


async def test_the_key_is_the_same_in_all_attempts_until_it_is_given_up(host: FakeHost) -> None:
    there.lost_answers = 1
    there.says = Retry("ended there without a trace")
    answer, _ = await to_the_end(host, draft)

    assert answer == Returned("70")
    keys = [key for verb, key in there.calls if verb in ("find", "submit")]
    assert verbs() == ["find", "submit", "find", "poll", "find", "submit", "poll"]
    assert len(set(keys[:3])) == 1
    assert len(set(keys)) == 2


async def test_a_find_that_fails_submits_nothing(host: FakeHost) -> None:
    class Unfindable(Draft):
        async def find(self, item: int, key: str) -> str | None:
            there.calls.append(("find", key))
            if there.count("find") < 3:
                raise ConnectionError("reset")
            return None

    async def body(ctx: AsyncContext) -> int:
        return await ctx.step("draft", Unfindable(), 7)

    answer, _ = await to_the_end(host, body)
    assert answer == Returned("70")
    assert verbs() == ["find", "find", "find", "submit", "poll"]


async def test_no_handle_after_half_an_hour_submits_again(host: FakeHost) -> None:
    there.no_handles = 1
    answer, waits = await to_the_end(host, draft)

    assert answer == Returned("70")
    assert len(waits) == 6
    assert host.clock == 1800.0
    assert verbs() == ["find", "submit", *["find"] * 5, "find", "submit", "poll"]


async def test_no_handle_at_all(host: FakeHost) -> None:
    there.no_handles = 10
    answer, _ = await to_the_end(host, draft)

    assert isinstance(answer, Raised)
    assert answer.failure.type == "TimeoutError"
    assert answer.failure.message == "operation 'draft': no handle after 3 submissions"
    assert there.count("submit") == 3
    assert host.ledger[-1].state == "failed"


async def test_in_flight_too_long_is_cancelled_and_submitted_again(host: FakeHost) -> None:
    there.busy = 13
    answer, _ = await to_the_end(host, draft)

    assert answer == Returned("70")
    assert [call for call in there.calls if call[0] in ("submit", "cancel")][1] == ("cancel", "h1")
    assert there.count("submit") == 2
    assert host.clock == 3600.0 + 300.0


async def test_in_flight_too_long_for_the_last_time(host: FakeHost) -> None:
    there.busy = 1000
    answer, _ = await to_the_end(host, draft)

    assert isinstance(answer, Raised)
    assert answer.failure.message == (
        "operation 'draft': it was in flight for 3600 s; 3 submissions were made"
    )
    assert [handle for verb, handle in there.calls if verb == "cancel"] == ["h1", "h2", "h3"]


async def test_within_is_for_all_of_it(host: FakeHost) -> None:
    class Quick(Draft):
        within = "17m"

    async def body(ctx: AsyncContext) -> int:
        return await ctx.step("draft", Quick(), 7)

    there.busy = 1000
    answer, waits = await to_the_end(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.message == "operation 'draft': it took longer than 1020 s"
    assert [each.seconds for each in waits] == [300.0, 300.0, 300.0, 120.0]
    assert verbs()[-1] == "cancel"


async def test_a_snooze_says_when(host: FakeHost) -> None:
    there.says = Snooze("20s")
    _, waits = await to_the_end(host, draft)
    assert [each.seconds for each in waits] == [20.0]


async def test_fail_is_the_end(host: FakeHost) -> None:
    there.says = Fail("quota")
    answer, _ = await to_the_end(host, draft)
    assert isinstance(answer, Fail)
    assert answer.reason == "quota"
    assert (host.ledger[-1].state, host.ledger[-1].error) == ("failed", "quota")


async def test_an_error_of_poll_is_polled_again(host: FakeHost) -> None:
    there.says = ConnectionError("reset")
    answer, waits = await to_the_end(host, draft)
    assert answer == Returned("70")
    assert len(waits) == 1
    assert "operation 'draft', poll: ConnectionError: reset" in host.texts()


async def test_an_error_of_submit_spends_a_submission(host: FakeHost) -> None:
    class Refusing(Draft):
        async def submit(self, item: int, key: str) -> str | None:
            there.calls.append(("submit", key))
            raise PermissionError("no")

    async def body(ctx: AsyncContext) -> int:
        return await ctx.step("draft", Refusing(), 7)

    answer, waits = await to_the_end(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.type == "PermissionError"
    assert there.count("submit") == 3
    assert len(waits) == 2


async def test_another_attempt_begins_anew(host: FakeHost) -> None:
    there.says = Fail("quota")
    await to_the_end(host, draft)
    host.spent = 1
    answer, _ = await to_the_end(host, draft)
    assert answer == Returned("70")
    assert there.count("submit") == 1  # what is there is found


async def test_a_failed_step_is_begun_anew_where_the_rules_say_so(host: FakeHost) -> None:
    class Stuck(Draft):
        within = "10m"

    async def body(ctx: AsyncContext) -> int:
        rules = ctx.using(max_attempts=2, backoff=Backoff("fixed", base="1m", jitter=0))
        return await rules.step("draft", Stuck(), 7)

    there.busy = 3
    answer, waits = await to_the_end(host, body)
    assert answer == Returned("70")
    assert [(each.cause, each.seconds) for each in waits] == [
        ("operation", 300.0), ("operation", 300.0), ("retry", 60.0),
    ]  # fmt: skip


async def test_a_map_polls_what_is_due(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> list[int]:
        return await ctx.map("draft", Draft(), [1, 2, 3])

    there.says = Snooze("1m")  # of one of the three
    there.busy = 2
    answer, waits = await to_the_end(host, body)
    assert answer == Returned("[10,20,30]")
    assert [each.seconds for each in waits] == [60.0, 240.0]
    assert waits[0].wait_for == "draft[0]\ndraft[1]\ndraft[2]"
    assert there.count("poll") == 6
    assert there.count("submit") == 3


async def test_a_map_has_so_many_in_flight(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> list[int]:
        return await ctx.map("draft", Draft(), [1, 2, 3], at_once=2)

    there.busy = 2
    assert isinstance(await enter(host, body), Parked)
    assert there.count("submit") == 2


async def test_a_map_with_a_failed_one_waits_for_the_others(host: FakeHost) -> None:
    async def body(ctx: AsyncContext) -> list[int]:
        return await ctx.map("draft", Draft(), [1, 2])

    there.says = Fail("quota")
    there.busy = 1
    answer, waits = await to_the_end(host, body)
    assert isinstance(answer, Fail)
    assert len(waits) == 1
    assert there.count("submit") == 2
    assert host.kept["step:draft[1]"] == "20"


async def three_drafts(ctx: AsyncContext) -> None:
    await ctx.using(compensate=print).step("a", lambda: 1)
    await ctx.map("draft", Draft(), [1, 2, 3], at_once=2)
    await ctx.step("never", there.calls.append, ("never", ""))


async def test_what_is_in_flight_is_cancelled_one_by_one(host: FakeHost) -> None:
    there.busy = 10
    assert isinstance(await enter(host, three_drafts), Parked)
    assert await enter(host, three_drafts, undo="*") == Undoing(("a", "draft[0]", "draft[1]"))
    assert "cancel" not in verbs()

    assert await enter(host, three_drafts, undo="draft[1]") == Returned("null")
    assert [call for call in there.calls if call[0] in ("cancel", "never")] == [("cancel", "h2")]
    assert (host.ledger[-1].no, host.ledger[-1].state) == (1, "cancelled")
    assert await enter(host, three_drafts, undo="*") == Undoing(("a", "draft[0]"))


async def test_what_is_in_flight_after_an_item_that_failed(host: FakeHost) -> None:
    """An item that is not done keeps no place when it is only to be found what is to be undone."""

    async def body(ctx: AsyncContext) -> None:
        await ctx.map("draft", Draft(), [1, 2], at_once=1)

    there.says = Fail("quota")
    there.busy = 10
    assert isinstance(await enter(host, body), Parked)
    assert await enter(host, body, undo="*") == Undoing(("draft[1]",))
    assert await enter(host, body, undo="draft[1]") == Returned("null")


async def test_a_cancel_that_fails_is_the_undo_steps_error(host: FakeHost) -> None:
    class Stubborn(Draft):
        async def cancel(self, item: int, handle: str) -> None:
            raise ConnectionError("reset by peer")

    async def body(ctx: AsyncContext) -> int:
        return await ctx.step("draft", Stubborn(), 7)

    there.busy = 10
    assert isinstance(await enter(host, body), Parked)
    answer = await enter(host, body, undo="draft")
    assert isinstance(answer, Raised)
    assert (answer.failure.type, answer.failure.message) == ("ConnectionError", "reset by peer")
    assert host.ledger[-1].state == "submitted"
    assert await enter(host, body, undo="*") == Undoing(("draft",))


async def test_undoing_finds_what_was_submitted_without_an_answer(host: FakeHost) -> None:
    there.lost_answers = 1
    assert isinstance(await enter(host, draft), Parked)
    assert await enter(host, draft, undo="*") == Undoing(("draft",))
    assert await enter(host, draft, undo="draft") == Returned("null")
    assert there.calls[-1] == ("cancel", "h1")


async def test_what_find_found_is_cancelled(host: FakeHost) -> None:
    """Nothing was submitted in this run's name, but there is a handle, and it is in flight."""

    class Known(Draft):
        async def find(self, item: int, key: str) -> str | None:
            return "h0"

    async def body(ctx: AsyncContext) -> int:
        return await ctx.step("draft", Known(), 7)

    there.busy = 10
    assert isinstance(await enter(host, body), Parked)
    assert host.unwind
    assert await enter(host, body, undo="*") == Undoing(("draft",))
    assert await enter(host, body, undo="draft") == Returned("null")
    assert there.calls[-1] == ("cancel", "h0")
    assert host.ledger[-1].state == "cancelled"
    assert await enter(host, body, undo="*") == Undoing(())


class Pollless(Operation[int, str, int]):
    def submit(self, item: int, key: str) -> str:
        there.calls.append(("submit", key))
        return "h"


class Submitless(Operation[int, str, int]):
    def poll(self, item: int, handle: str) -> int:
        return 1


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (Pollless(), "Pollless has no poll."),
        (Submitless(), "Submitless has no submit."),
        (Draft, "Draft is the class of an operation; give an instance: Draft()."),
    ],
    ids=["poll", "submit", "class"],
)
@pytest.mark.parametrize("verb", ["step", "map"])
async def test_what_is_no_whole_operation_is_refused(
    host: FakeHost, target: Any, told: str, verb: str
) -> None:
    async def body(ctx: AsyncContext) -> None:
        if verb == "step":
            await ctx.step("draft", target, 7)
        await ctx.map("draft", target, [7])

    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert (answer.failure.type, answer.failure.message) == ("DeclarationError", told)
    assert there.calls == []
    assert host.kept == {}


async def test_what_is_undone_beside_something_that_is_not_begun(host: FakeHost) -> None:
    """Another task comes first to a step that has no record: it says nothing of the wanted one."""

    async def body(ctx: AsyncContext) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.step("other", Draft(), 1))
            group.create_task(ctx.step("draft", Draft(), 2))

    there.busy = 10
    assert isinstance(await enter(host, body), Parked)
    assert await enter(host, body, undo="draft") == Returned("null")
    assert there.calls[-1] == ("cancel", "h2")


@pytest.mark.parametrize("waits", [False, True])
async def test_undoing_comes_by_a_step_that_failed(host: FakeHost, waits: bool) -> None:
    undone: list[int] = []

    def fail() -> None:
        raise OSError("reset")

    async def body(ctx: AsyncContext) -> None:
        with contextlib.suppress(OSError):
            await ctx.step("bad", fail)
        if waits:
            await ctx.sleep(0)
        await ctx.using(compensate=undone.append).step("a", lambda: 1)
        raise ValueError("the end")

    assert isinstance(await enter(host, body), Raised)
    assert await enter(host, body, undo="*") == Undoing(("a",))
    assert await enter(host, body, undo="a") == Returned("null")
    assert undone == [1]


async def test_an_undo_that_is_not_there_any_more(host: FakeHost) -> None:
    async def changed(ctx: AsyncContext) -> int:
        return await ctx.step("other", Draft(), 7)

    there.busy = 10
    assert isinstance(await enter(host, draft), Parked)
    answer = await enter(host, changed, undo="draft")
    assert isinstance(answer, Raised)
    assert answer.failure.type == "WorkflowChanged"
    assert answer.failure.message == (
        "j: what undoes step 'draft' of run 412 is not found: the body does not come by that "
        "step, or not with compensate=, any more"
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"every": "five minutes"}, "every is 'five minutes'; write it as"),
        ({"every": "0s"}, "every is '0s'; it is at least 1 s"),
        ({"every": None}, "every is None; write seconds"),
        ({"within": "soon"}, "within is 'soon'; write it as"),
        ({"within": 0.5}, "within is 0.5; it is at least 1 s"),
        ({"stall": "1h"}, r"stall is '1h'; write Stall\(…\)"),
    ],
)
def test_times_are_checked_when_an_operation_is_declared(
    options: dict[str, Any], told: str
) -> None:
    with pytest.raises(DeclarationError, match=f"^Hasty: an operation's {told}"):
        type("Hasty", (Draft,), options)


async def test_times_of_an_instance_are_checked_before_it_is_submitted(host: FakeHost) -> None:
    class Set(Draft):
        def __init__(self) -> None:
            self.every = "0s"  # type: ignore[misc]

    async def body(ctx: AsyncContext) -> int:
        return await ctx.step("draft", Set(), 7)

    answer = await enter(host, body)
    assert isinstance(answer, Raised)
    assert answer.failure.type == "DeclarationError"
    assert there.calls == []


async def test_a_snooze_is_no_shorter_than_a_second(host: FakeHost) -> None:
    there.says = Snooze(0)
    _, waits = await to_the_end(host, draft)
    assert [each.seconds for each in waits] == [1.0]


def test_a_stall_counts_from_one() -> None:
    with pytest.raises(DeclarationError, match="max_submits is 0; it counts from 1"):
        Stall(max_submits=0)
    with pytest.raises(DeclarationError, match="an operation's no_handle is 'soon'"):
        Stall(no_handle="soon")


async def test_logs_come_into_the_runs_log(host: FakeHost) -> None:
    class Talkative(Draft):
        def logs(self, item: int, handle: str, cursor: Any) -> Any:
            start = cursor or 0
            return [f"line {start}"], start + 1

    async def body(ctx: AsyncContext) -> int:
        return await ctx.step("draft", Talkative(), 7)

    there.busy = 1
    await to_the_end(host, body)
    assert host.texts() == ["draft: line 0", "draft: line 1"]
