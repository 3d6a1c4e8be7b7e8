"""Waits, signals, questions and children in the database: stored, locked, moved, in that order."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from koken.engine import control, durable, record
from koken.engine.claim import Claimed
from koken.engine.durable import Begun
from koken.engine.finish import SPENDS_NOTHING
from koken.engine.record import Keeping
from koken.errors import LeaseLost, NotFound, Refused
from koken.model.durable import Entry, Kept, Met, Waiting, Wanted
from koken.model.states import State, WaitCause
from tests.support.house import NOON, House


async def claimed(house: House) -> Claimed:
    """One run at work."""
    await house.job()
    await house.start()
    (run,) = await house.claim()
    return run


def signal(name: str = "go", key: str = "wait:1", **more: Any) -> Waiting:
    return Waiting(key=key, ordinal=1, kind="signal", name=name, **more)


async def park(house: House, run: Claimed, cause: WaitCause, wait_for: str = "") -> str:
    """Leave a run to wait; gives the state in which it is then."""
    done = await house.finish(
        run, State.WAITING, outcome="parked", spent=SPENDS_NOTHING, wait_cause=cause,
        wait_for=wait_for or None, delay=None, part=True,
    )  # fmt: skip
    assert list(done.moved) == [run.id]
    return await house.state(run.id)


async def test_a_sleep_is_by_the_databases_clock(house: House) -> None:
    run = await claimed(house)
    nap = Waiting(key="wait:1", ordinal=1, kind="sleep", seconds=60.0)

    assert await durable.wait(house.db, run.id, run.lease, nap) == Met(None, False, 60.0)
    await house.pass_time(seconds=59)
    assert await durable.wait(house.db, run.id, run.lease, nap) == Met(None, False, 1.0)
    (kept,) = (await record.checkpoints(house.db, run.id)).kept.values()
    assert (kept.ordinal, kept.left) == (1, 1.0)
    await house.pass_time(seconds=1)
    assert await durable.wait(house.db, run.id, run.lease, nap) == Met(None, True, 0.0)


async def test_an_instant(house: House) -> None:
    run = await claimed(house)
    until = NOON + timedelta(hours=3)
    nap = Waiting(key="wait:1", ordinal=1, kind="sleep", until=until)
    assert await durable.wait(house.db, run.id, run.lease, nap) == Met(None, False, 10800.0)


async def test_a_lease_that_is_gone(house: House) -> None:
    run = await claimed(house)
    with pytest.raises(LeaseLost, match=f"run {run.id} is no longer carried by this attempt"):
        await durable.wait(house.db, run.id, run.lease + 1, signal())
    wanted = Wanted(key="child:a", step="a", spent=0, job="report", args={})
    with pytest.raises(LeaseLost):
        await durable.child(house.db, run.id, run.lease + 1, wanted)
    assert await house.rows("select * from koken.checkpoint") == []


async def test_signals_are_taken_once_and_in_order(house: House) -> None:
    run = await claimed(house)
    for value in ("1", "2", "null"):
        await durable.send_signal(house.db, run.id, "go", value, by="anna")

    for number, value in enumerate(("1", "2", "null"), 1):
        key = f"wait:{number}"
        assert await durable.wait(house.db, run.id, run.lease, signal(key=key)) == Met(value)
        assert await durable.wait(house.db, run.id, run.lease, signal(key=key)) == Met(value)
    assert await durable.wait(house.db, run.id, run.lease, signal(key="wait:4")) == Met()
    events = await house.rows("select verb, by, detail from koken.event where verb = 'signal'")
    assert [(row["by"], row["detail"]) for row in events] == [("anna", '{"name": "go"}')] * 3


async def test_a_signal_wakes_a_run_that_waits_for_it(house: House) -> None:
    run = await claimed(house)
    await durable.wait(house.db, run.id, run.lease, signal())
    assert await park(house, run, WaitCause.SIGNAL, "stop\ngo") == "waiting"

    await durable.send_signal(house.db, run.id, "other", "1", by="anna")
    assert await house.state(run.id) == "waiting"
    await durable.send_signal(house.db, run.id, "go", "1", by="anna")
    row = await house.row(run.id)
    assert (row["state"], row["wait_cause"], row["wait_for"]) == ("ready", None, None)


async def test_a_signal_that_came_while_the_run_was_left(house: House) -> None:
    """Whoever moves the run looks once more."""
    run = await claimed(house)
    await durable.wait(house.db, run.id, run.lease, signal())
    await durable.send_signal(house.db, run.id, "go", "1", by="anna")
    assert await park(house, run, WaitCause.SIGNAL, "go") == "ready"


async def test_no_signal_is_lost_in_a_race(house: House) -> None:
    await house.job()
    await house.start_many(60)
    await house.hire(default=100)
    runs = await house.claim()
    for run in runs:
        await durable.wait(house.db, run.id, run.lease, signal())

    async def both(run: Claimed) -> None:
        await asyncio.gather(
            park(house, run, WaitCause.SIGNAL, "go"),
            durable.send_signal(house.db, run.id, "go", "1", by="anna"),
        )

    await asyncio.gather(*(both(run) for run in runs))
    states = await house.rows("select distinct state from koken.run")
    assert [row["state"] for row in states] == ["ready"]


async def test_the_forms_of_signals_that_are_awaited(house: House) -> None:
    """Of waits that no signal serves which is there already."""
    run = await claimed(house)
    number, text = '{"type": "integer"}', '{"type": "string"}'

    async def forms() -> list[str]:
        return await durable.awaited_forms(house.db, run.id, "go")

    async def wait(key: str, schema: str, **more: Any) -> Met:
        waiting = signal(key=key, schema=schema, **more)
        return await durable.wait(house.db, run.id, run.lease, waiting)

    await durable.send_signal(house.db, run.id, "go", "1", by="anna")
    assert await wait("wait:1", number) == Met("1")
    assert await forms() == []
    await wait("wait:2", number)
    await durable.wait(house.db, run.id, run.lease, signal("stop", key="wait:3", schema=text))
    await house.pass_time(seconds=1)
    await wait("wait:4", text, seconds=60.0)
    assert await forms() == [number, text]
    await durable.send_signal(house.db, run.id, "go", "2", by="anna")
    assert await forms() == [text]
    await house.pass_time(seconds=60)
    assert await forms() == []
    assert await wait("wait:2", number) == Met("2")
    await wait("wait:5", number)
    await wait("wait:5", text)
    assert await forms() == [text]


async def test_a_signal_that_does_not_fit_is_passed_by(house: House) -> None:
    """Its wait is over, and another goes on in its time; so it is however often it is told."""
    run = await claimed(house)
    for value in ('"xx"', "7"):
        await durable.send_signal(house.db, run.id, "go", value, by="anna")
    first = signal(seconds=60.0)
    assert await durable.wait(house.db, run.id, run.lease, first) == Met('"xx"', False, 60.0)
    await house.pass_time(seconds=20)
    again = signal(key="wait:1 again 2", seconds=60.0, before="wait:1", reason="no number")
    for _ in range(2):
        assert await durable.wait(house.db, run.id, run.lease, again) == Met("7", False, 40.0)
    rows = await house.rows("select value, taken_by, refused from koken.signal order by id")
    assert [tuple(row.values()) for row in rows] == [
        ('"xx"', "wait:1", "no number"), ("7", "wait:1 again 2", None),
    ]  # fmt: skip


async def test_signals_for_nobody(house: House) -> None:
    run = await claimed(house)
    await house.finish(run)
    with pytest.raises(Refused, match=f"run {run.id} has ended"):
        await durable.send_signal(house.db, run.id, "go", "1", by="anna")
    with pytest.raises(NotFound, match="there is no run 4711"):
        await durable.send_signal(house.db, 4711, "go", "1", by="anna")
    assert await house.rows("select * from koken.signal") == []


async def test_a_timeout_leaves_the_signal_to_the_next_wait(house: House) -> None:
    run = await claimed(house)
    short = signal(seconds=60.0)
    assert await durable.wait(house.db, run.id, run.lease, short) == Met(None, False, 60.0)
    await house.pass_time(seconds=60)
    assert await durable.wait(house.db, run.id, run.lease, short) == Met(None, True, 0.0)
    await durable.send_signal(house.db, run.id, "go", "7", by="anna")
    assert await durable.wait(house.db, run.id, run.lease, short) == Met(None, True, 0.0)
    assert await durable.wait(house.db, run.id, run.lease, signal(key="wait:2")) == Met("7")


async def test_a_question_is_answered_once(house: House) -> None:
    run = await claimed(house)
    asks = Waiting(
        key="wait:1", ordinal=1, kind="question", name="Ship it?", schema='{"type":"boolean"}',
        to="anna",
    )  # fmt: skip
    assert await durable.wait(house.db, run.id, run.lease, asks) == Met()
    (question,) = await durable.open_questions(house.db, run.id)
    assert (question.text, question.to, question.schema) == (
        "Ship it?", "anna", '{"type": "boolean"}',
    )  # fmt: skip
    assert await park(house, run, WaitCause.QUESTION, "wait:1") == "waiting"

    await durable.answer_question(house.db, run.id, "wait:1", "true", by="bert")
    assert await house.state(run.id) == "ready"
    with pytest.raises(Refused, match=r'question "Ship it\?" of run \d+ was answered by bert'):
        await durable.answer_question(house.db, run.id, "wait:1", "false", by="carl")
    (again,) = await house.claim()
    assert await durable.wait(house.db, again.id, again.lease, asks) == Met("true")
    (event,) = await house.rows("select by, detail from koken.event where verb = 'answer'")
    assert (event["by"], event["detail"]) == (
        "bert", '{"answer": true, "question": "Ship it?"}',
    )  # fmt: skip


async def test_an_answer_that_is_too_late(house: House) -> None:
    run = await claimed(house)
    asks = Waiting(key="wait:1", ordinal=1, kind="question", name="Ship it?", seconds=60.0)
    await durable.wait(house.db, run.id, run.lease, asks)
    await house.pass_time(seconds=60)
    with pytest.raises(Refused, match="is closed: nobody waits for the answer any more"):
        await durable.answer_question(house.db, run.id, "wait:1", "true", by="bert")
    assert await durable.wait(house.db, run.id, run.lease, asks) == Met(None, True, 0.0)
    assert await durable.open_questions(house.db, run.id) == []


async def test_an_answer_that_came_while_the_run_was_left(house: House) -> None:
    run = await claimed(house)
    asks = Waiting(key="wait:1", ordinal=1, kind="question", name="Ship it?")
    await durable.wait(house.db, run.id, run.lease, asks)
    await durable.answer_question(house.db, run.id, "wait:1", "true", by="bert")
    assert await park(house, run, WaitCause.QUESTION, "wait:1") == "ready"


async def test_a_child_is_started_once(house: House) -> None:
    run = await claimed(house)
    await house.job("kid")
    wanted = Wanted(key="child:a", step="a", spent=0, job="kid", args={"n": 1})

    begun = await durable.child(house.db, run.id, run.lease, wanted)
    child_id = begun.id
    assert begun == Begun(
        id=child_id, job="kid", state=State.READY, result=None, error=None, open=1
    )
    assert await durable.child(house.db, run.id, run.lease, wanted) == begun
    row = await house.row(child_id)
    assert (row["parent_id"], row["root_id"], row["step"], row["state"]) == (
        run.id, run.id, "a", "ready",
    )  # fmt: skip
    assert (row["trigger_kind"], row["trigger_by"]) == ("run", f"run {run.id}")
    assert row["logical_at"] == NOON


async def test_a_child_that_failed_is_started_anew_by_the_next_attempt(house: House) -> None:
    run = await claimed(house)
    await house.job("kid")

    def wanted(spent: int | None) -> Wanted:
        return Wanted(key="child:a", step="a", spent=spent, job="kid", args={})

    first = (await durable.child(house.db, run.id, run.lease, wanted(0))).id
    (kid,) = await house.claim()
    await house.finish(kid, State.FAILED)
    failed = await durable.child(house.db, run.id, run.lease, wanted(0))
    assert (failed.id, failed.state, failed.open) == (first, "failed", 0)
    second = await durable.child(house.db, run.id, run.lease, wanted(1))
    assert second.id > first
    assert (second.state, second.open) == ("ready", 1)
    assert await durable.child(house.db, run.id, run.lease, wanted(1)) == second


async def test_a_parent_wakes_when_its_child_ends(house: House) -> None:
    run = await claimed(house)
    await house.job("kid")
    wanted = Wanted(key="child:a", step="a", spent=0, job="kid", args={})
    begun = await durable.child(house.db, run.id, run.lease, wanted)
    child_id = begun.id
    assert begun.open == 1
    await house.finish(
        run, State.WAITING, outcome="parked", spent=SPENDS_NOTHING, wait_cause=WaitCause.CHILDREN,
        wait_for=str(child_id), wake_below=0, delay=None, part=True,
    )  # fmt: skip
    assert await house.state(run.id) == "waiting"
    (kid,) = await house.claim()
    await house.finish(kid)
    assert await house.state(run.id) == "ready"
    assert await durable.open_children(house.db, run.id, [child_id]) == ([child_id], 0)


async def test_no_children_for_a_run_that_is_to_end(house: House) -> None:
    run = await claimed(house)
    await control.cancel(house.db, run.id, by="anna", reason=None)
    wanted = Wanted(key="child:a", step="a", spent=0, job="report", args={})
    with pytest.raises(Refused, match="starts no more children"):
        await durable.child(house.db, run.id, run.lease, wanted)


async def test_what_is_recorded(house: House) -> None:
    run = await claimed(house)
    mine = (run.id, run.lease)
    stands = await record.record(
        house.db,
        [
            Keeping(*mine, "step:a", "1", overwrite=False, ordinal=1, undo=True),
            Keeping(*mine, "operation:b", "1", overwrite=True,
                    entries=[Entry("b", 0, "created", item="[7]")]),
            Keeping(run.id, run.lease + 1, "step:c", "1", overwrite=False,
                    entries=[Entry("c", 0, "done")], undo=True),
        ],
        [], [], clock=0.0,
    )  # fmt: skip
    assert stands == {(run.id, "step:a"): "1", (run.id, "operation:b"): "1"}
    await house.pass_time(seconds=10)
    entry = Entry("b", 0, "submitted", handle='"h"', submits=1)
    await record.record(
        house.db,
        [
            Keeping(*mine, "step:a", "2", overwrite=False),
            Keeping(*mine, "operation:b", "2", overwrite=True, entries=[entry]),
        ],
        [], [], clock=0.0,
    )  # fmt: skip
    past = await record.checkpoints(house.db, run.id)
    assert past.kept == {
        "step:a": Kept("1", 1, True, 10.0),
        "operation:b": Kept("2", None, False, 0.0),
    }
    assert (await house.row(run.id))["unwind"] is True
    lines = await house.rows("select key, no, state, item, handle, submits from koken.ledger")
    assert [tuple(line.values()) for line in lines] == [("b", 0, "submitted", "[7]", '"h"', 1)]
    at = await house.value("select submitted_at from koken.ledger")
    assert at == NOON + timedelta(seconds=10)


async def test_attempts_that_were_used_up(house: House) -> None:
    run = await claimed(house)
    for spent in ("parked", "snooze", "retry"):
        await house.finish(
            run, State.WAITING, outcome=spent, wait_cause=WaitCause.RETRY, delay=0.0, error="{}"
        )
        await house.rows("update koken.run set state = 'ready' where id = $1", run.id)
        (run,) = await house.claim()
    assert (await record.checkpoints(house.db, run.id)).spent == 1
