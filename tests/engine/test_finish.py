"""Finishes: fenced, counted once, in batches; what they cost, and what they set free."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from koken.engine import control
from koken.engine.finish import SPENDS_INFRA, SPENDS_NOTHING, Ending, finish
from koken.engine.wake import expire, wake
from koken.errors import KokenError, Refused
from koken.model.states import State, WaitCause
from tests.support.house import NOON, House


async def test_a_success_keeps_the_result_and_the_time(house: House) -> None:
    await house.job()
    await house.start()
    (run,) = await house.claim()
    await house.pass_time(seconds=90)
    done = await house.finish(run, result='{"rows": 7}')
    row = await house.row(run.id)
    assert done.moved == {run.id: State.SUCCEEDED}
    assert (row["state"], row["result"], row["attempt"]) == ("succeeded", '{"rows": 7}', 1)
    assert row["finished_at"] == NOON + timedelta(seconds=90)
    assert await house.rows("select * from koken.attempt") == []


async def test_a_failed_try_leaves_a_record(house: House) -> None:
    await house.job(max_attempts=3)
    await house.start()
    (run,) = await house.claim()
    await house.pass_time(seconds=10)
    await house.finish(
        run,
        State.WAITING,
        outcome="retry",
        wait_cause=WaitCause.RETRY,
        delay=300.0,
        error='{"type": "OSError", "message": "no space"}',
    )
    row = await house.row(run.id)
    assert (row["state"], row["wait_cause"], row["attempt"]) == ("waiting", "retry", 1)
    assert row["wake_at"] == NOON + timedelta(seconds=310)
    (attempt,) = await house.rows("select * from koken.attempt")
    assert (attempt["lease"], attempt["attempt"], attempt["outcome"]) == (1, 1, "retry")
    assert attempt["started_at"] == NOON
    assert attempt["error"] == '{"type": "OSError", "message": "no space"}'


async def test_what_costs_nothing_takes_the_attempt_back(house: House) -> None:
    """bug-043: a snooze spends no attempt and takes a new lease."""
    await house.job(max_attempts=3)
    await house.start()
    for lease in range(1, 11):
        (run,) = await house.claim()
        assert (run.lease, run.attempt) == (lease, 1)
        await house.finish(
            run,
            State.WAITING,
            outcome="snooze",
            spent=SPENDS_NOTHING,
            wait_cause=WaitCause.DELAY,
            delay=60.0,
        )
        await house.pass_time(minutes=1)
        await wake(house.db)
    assert await house.value("select count(*) from koken.attempt where outcome = 'snooze'") == 10


async def test_infrastructure_has_a_budget_of_its_own(house: House) -> None:
    await house.job(max_attempts=1)
    await house.start()
    (run,) = await house.claim()
    await house.finish(
        run,
        State.WAITING,
        outcome="broken",
        spent=SPENDS_INFRA,
        wait_cause=WaitCause.RETRY,
        delay=5.0,
    )
    row = await house.row(run.id)
    assert (row["attempt"], row["infra_attempt"]) == (0, 1)


async def test_a_handed_back_run_keeps_its_place(house: House) -> None:
    await house.job()
    first = (await house.start()).run_id
    (run,) = await house.claim(1)
    await house.pass_time(hours=1)
    await house.start()
    await house.finish(run, State.READY, outcome="returned", spent=SPENDS_NOTHING)
    again = (await house.claim(1))[0]
    assert (again.id, again.lease, again.attempt) == (first, 2, 1)


async def test_a_stale_lease_changes_nothing(house: House) -> None:
    """I3."""
    await house.job()
    await house.start()
    (old,) = await house.claim()
    await house.finish(old, State.READY, outcome="returned", spent=SPENDS_NOTHING)
    (new,) = await house.claim()
    done = await house.finish(old, result='"old"')
    assert (done.moved, done.stale, done.delivered_before) == ({}, {old.id}, set())
    assert await house.state(old.id) == "running"
    await house.finish(new, result='"new"')
    assert (await house.row(new.id))["result"] == '"new"'


async def test_a_delivery_without_an_answer_is_recognised(house: House) -> None:
    await house.job()
    await house.start()
    (run,) = await house.claim()
    await house.finish(run)
    again = await house.finish(run)
    assert (again.moved, again.stale, again.delivered_before) == ({}, set(), {run.id})


async def test_one_batch_moves_each_its_own_way(house: House) -> None:
    await house.job(max_attempts=2)
    await house.start_many(4)
    a, b, c, d = sorted(await house.claim(), key=lambda run: run.id)
    done = await finish(
        house.db,
        [
            Ending(d.id, d.lease, State.SKIPPED, "skipped", error='{"message": "nothing"}'),
            Ending(a.id, a.lease, State.SUCCEEDED, result="1"),
            Ending(c.id, c.lease + 1, State.SUCCEEDED, result="1"),
            Ending(b.id, b.lease, State.FAILED, "failed", error='{"type": "E"}'),
        ],
    )
    assert done.moved == {a.id: State.SUCCEEDED, b.id: State.FAILED, d.id: State.SKIPPED}
    assert done.stale == {c.id}


async def test_a_wanted_cancel_wins_over_parking(house: House) -> None:
    """I8: retries stop in the same transaction."""
    await house.job(max_attempts=144)
    await house.start()
    (run,) = await house.claim()
    cancelled = await control.cancel(house.db, run.id, by="mira", reason="wrong market")
    assert cancelled.verdict == "asked"
    assert await house.state(run.id) == "running"
    await house.finish(run, State.WAITING, outcome="retry", wait_cause=WaitCause.RETRY, delay=60.0)
    row = await house.row(run.id)
    assert (row["state"], row["wake_at"], row["wait_cause"]) == ("cancelled", None, None)
    assert row["error"] == '{"by": "mira", "type": "Cancel", "message": "wrong market"}'


@pytest.mark.parametrize("delay", [None, 60.0])
async def test_cancel_ends_what_nobody_carries_at_once(house: House, delay: float | None) -> None:
    """X-03."""
    await house.job()
    run_id = (await house.start(delay=delay)).run_id
    cancelled = await control.cancel(house.db, run_id, by="mira", reason=None)
    assert cancelled.verdict == "ended"
    row = await house.row(run_id)
    assert (row["state"], row["error"]) == (
        "cancelled",
        '{"by": "mira", "type": "Cancel", "message": "cancelled by mira"}',
    )
    (event,) = await house.rows("select verb, by, run_id from koken.event")
    assert event == {"verb": "cancel", "by": "mira", "run_id": run_id}


async def test_a_retry_by_a_person_counts_from_one_again(house: House) -> None:
    await house.job(max_attempts=2)
    run_id = (await house.start(n=1)).run_id
    for _ in range(2):
        (run,) = await house.claim()
        await house.finish(run, State.READY, outcome="retry")
    (run,) = await house.claim()
    await house.finish(run, State.FAILED, error='{"type": "E"}')
    await house.retry(run_id, by="mira", reason="fixed", args='{"n": 2}')
    row = await house.row(run_id)
    assert (row["state"], row["attempt"], row["lease"], row["args"]) == (
        "ready",
        0,
        3,
        '{"n": 2}',
    )
    assert (row["finished_at"], row["error"]) == (None, None)
    (event,) = await house.rows("select verb, by, reason from koken.event")
    assert event == {"verb": "retry", "by": "mira", "reason": "fixed"}


@pytest.mark.parametrize("state", ["ready", "running", "succeeded"])
async def test_only_what_did_not_end_well_can_be_retried(house: House, state: str) -> None:
    await house.job()
    run_id = (await house.start()).run_id
    if state != "ready":
        (run,) = await house.claim()
        if state == "succeeded":
            await house.finish(run)
    with pytest.raises(Refused, match=f"run {run_id} is {state}"):
        await house.retry(run_id, by="mira", reason=None)


async def test_finishes_of_one_batch_and_a_rescue_never_count_twice(house: House) -> None:
    await house.job()
    await house.start_many(300)
    runs = await house.claim(300)
    endings = [Ending(run.id, run.lease, State.SUCCEEDED) for run in runs]
    results = await asyncio.gather(*(finish(house.db, endings) for _ in range(4)))
    assert sum(len(each.moved) for each in results) == 300
    assert {frozenset(each.stale) for each in results} == {frozenset()}


async def test_a_value_that_postgresql_refuses_is_an_error_of_the_batch(house: House) -> None:
    await house.job()
    await house.start()
    (run,) = await house.claim()
    with pytest.raises(KokenError):
        await house.finish(run, result='"\\u0000"')
    assert await house.state(run.id) == "running"


async def test_what_is_not_started_in_time_fails(house: House) -> None:
    await house.job(start_timeout=60.0, run_timeout=600.0)
    await house.start()
    (running,) = await house.claim()
    late = (await house.start()).run_id
    await house.pass_time(seconds=61)
    assert await expire(house.db) == 1
    row = await house.row(late)
    assert (row["state"], row["error"]) == (
        "failed",
        '{"type": "Timeout", "message": "it was not started in time (start_timeout)"}',
    )
    assert await house.state(running.id) == "running"
    await house.finish(running, State.WAITING, wait_cause=WaitCause.RETRY, delay=3600.0)
    await house.pass_time(seconds=600)
    assert await expire(house.db) == 1
    assert (await house.row(running.id))["error"] == (
        '{"type": "Timeout", "message": "the run took longer than it may (run_timeout)"}'
    )
