"""Claims: in order, to each worker its own, within limits, from every lane its share."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from koken.engine import claim, finish, queues, register, wake
from koken.model.states import State, WaitCause
from tests.support.house import NOON, House

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


async def queue(house: House, name: str = "default") -> int:
    """A queue's number."""
    return (await register.queue_ids(house.db, {name: 1}))[name]


async def test_a_claim_raises_the_fence_and_says_who_carries(house: House) -> None:
    """I2."""
    await house.job(timeout=60.0, run_timeout=600.0)
    started = await house.start(n=1)
    (run,) = await house.claim()
    row = await house.row(started.run_id)
    assert (run.lease, run.attempt, run.args, run.seconds_left) == (1, 1, '{"n": 1}', 600.0)
    assert (row["state"], row["worker_id"], row["started_at"]) == ("running", house.worker, NOON)
    assert await house.claim() == []


async def test_order_is_priority_then_new_before_retried_then_oldest(house: House) -> None:
    """X-06."""
    await house.job(max_attempts=3)
    retried = (await house.start(n=0)).run_id
    (run,) = await house.claim()
    await house.finish(run, State.WAITING, wait_cause=WaitCause.RETRY, delay=0.0)
    await wake.wake(house.db)
    await house.pass_time(seconds=1)
    old = (await house.start(n=1)).run_id
    await house.pass_time(seconds=1)
    new = (await house.start(n=2)).run_id
    urgent = (await house.start(n=3, priority=-1)).run_id
    low = (await house.start(n=4, priority=1)).run_id
    assert [
        each.id for each in sorted(await house.claim(), key=lambda run: (run.rank, run.id))
    ] == [
        urgent,
        old,
        new,
        retried,
        low,
    ]


async def test_age_outweighs_priority_in_time(house: House) -> None:
    """No class waits for ever: one step of priority is worth 60 s."""
    await house.job()
    low = (await house.start(priority=5)).run_id
    await house.pass_time(seconds=301)
    high = (await house.start(priority=0)).run_id
    first, second = (await house.claim(1))[0].id, (await house.claim(1))[0].id
    assert (first, second) == (low, high)


async def test_two_workers_share_without_overlap(house: House) -> None:
    await house.job()
    await house.start_many(500)
    workers = [await house.hire(name) for name in ("a", "b", "c", "d")]
    batches = await asyncio.gather(*(house.claim(50, worker=each) for each in workers * 3))
    ids = [run.id for batch in batches for run in batch]
    assert len(ids) == len(set(ids)) == 500


async def test_a_lost_worker_claims_nothing(house: House) -> None:
    await house.job()
    await house.start()
    worker = await house.hire()
    await house.rows("update koken.worker set lost_at = koken.now() where id = $1", worker)
    assert await house.claim() == []


async def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(house: House) -> None:
    await house.job()
    await house.start()
    await queues.pause(house.db, "default", paused=True, by="mira", reason="deploy")
    assert await house.claim() == []
    row = (await house.rows("select * from koken.queue where name = 'default'"))[0]
    assert (row["paused_by"], row["pause_reason"]) == ("mira", "deploy")
    await queues.pause(house.db, "default", paused=False, by="mira", reason=None)
    assert len(await house.claim()) == 1
    verbs = [row["verb"] for row in await house.rows("select verb from koken.event order by id")]
    assert verbs == ["pause", "resume"]


async def test_every_workspace_gets_its_share(house: House) -> None:
    await house.job()
    for _ in range(100):
        await house.start(workspace="loud")
    await house.start(workspace="quiet")
    taken = await house.claim(10)
    assert len({run.workspace_id for run in taken}) == 2


async def test_marks_take_what_lies_above_and_the_bottom_finds_the_rest(house: House) -> None:
    await house.job()
    await house.start_many(3)
    first = (await house.claim(1))[0]
    lane = (first.queue_id, first.workspace_id)
    below = (await house.start(priority=-5)).run_id
    room = {first.queue_id: 10}
    marked = await claim.from_marks(house.db, house.worker, {lane: first.rank}, room)
    assert below not in [run.id for run in marked]
    assert len(marked) == 2
    assert [run.id for run in await house.claim()] == [below]


async def take_limited(house: House, name: str, room: int) -> tuple[int, float]:
    """How many a limited claim takes, and when its rate has room again."""
    if not house.worker:
        await house.hire()
    before = len(await claim.held(house.db, house.worker))
    _, again = await claim.limited(house.db, house.worker, await queue(house, name), room)
    return len(await claim.held(house.db, house.worker)) - before, again


async def test_a_limited_queue_is_left_to_the_limited_claim(house: House) -> None:
    await house.job(queue="g")
    await house.start_many(5)
    await queues.set_limits(house.db, "g", limit=3, by="mira", reason=None)
    assert await house.claim(queue="g") == []
    number = await queue(house, "g")
    assert await claim.limited_queues(house.db, [number]) == [number]
    assert await take_limited(house, "g", 10) == (3, 0.0)
    assert await take_limited(house, "g", 10) == (0, 0.0)


async def test_a_limit_changed_while_full_counts_from_then_on(house: House) -> None:
    """bug-023."""
    await house.job(queue="g")
    await house.start_many(12)
    await queues.set_limits(house.db, "g", limit=2, by="mira", reason=None)
    assert (await take_limited(house, "g", 100))[0] == 2
    await queues.set_limits(house.db, "g", limit=6, by="mira", reason=None)
    assert (await take_limited(house, "g", 100))[0] == 4
    await queues.set_limits(house.db, "g", limit=1, by="mira", reason=None)
    held = await claim.held(house.db, house.worker)
    for run in held[:5]:
        await house.finish(run)
        assert (await take_limited(house, "g", 100))[0] == 0
    await house.finish(held[5])
    assert (await take_limited(house, "g", 100))[0] == 1


async def test_workers_together_stay_within_the_limit(house: House) -> None:
    await house.job(queue="g")
    await house.start_many(100)
    await queues.set_limits(house.db, "g", limit=7, by="mira", reason=None)
    number = await queue(house, "g")
    workers = [await house.hire(name, g=50) for name in "abcd"]
    await asyncio.gather(*(claim.limited(house.db, each, number, 50) for each in workers * 5))
    assert await house.value("select count(*) from koken.run where state = 'running'") == 7


async def test_a_rate_spreads_starts_and_says_when_there_is_room(house: House) -> None:
    await house.job(queue="g")
    await house.start_many(100)
    await queues.set_limits(house.db, "g", rate=2.0, burst=3, by="mira", reason=None)
    assert await take_limited(house, "g", 100) == (3, 0.5)
    assert await take_limited(house, "g", 100) == (0, 0.5)
    await house.pass_time(seconds=1)
    assert (await take_limited(house, "g", 100))[0] == 2
    await house.pass_time(seconds=60)
    assert (await take_limited(house, "g", 100))[0] == 3


async def test_held_tells_what_a_lost_answer_has_taken(house: House) -> None:
    await house.job()
    await house.start(n=4)
    (run,) = await house.claim()
    assert await claim.held(house.db, house.worker) == [run]
    await finish.finish(house.db, [finish.Ending(run.id, run.lease, State.SUCCEEDED)])
    assert await claim.held(house.db, house.worker) == []


@pytest.mark.parametrize("ready", [0, 1, 70])
async def test_at_most_64_lanes_a_claim(house: House, ready: int) -> None:
    await house.job()
    for number in range(ready):
        await house.start(workspace=f"w{number}")
    taken = await house.claim(200)
    assert len(taken) == min(ready, 64)


async def test_started_at_is_the_first_start(house: House) -> None:
    await house.job(max_attempts=2)
    run_id = (await house.start()).run_id
    (run,) = await house.claim()
    await house.finish(run, State.WAITING, wait_cause=WaitCause.RETRY, delay=5.0)
    await house.pass_time(seconds=5)
    await wake.wake(house.db)
    (run,) = await house.claim()
    row = await house.row(run_id)
    assert (row["started_at"], row["lease"], row["attempt"]) == (NOON, 2, 2)
    assert row["rank"] == NOON + timedelta(seconds=35)


async def test_runs_of_jobs_that_a_program_lacks_are_left_to_others(house: House) -> None:
    await house.job()
    await house.job("other")
    lacking = (await house.start("other")).run_id
    mine = (await house.start()).run_id
    row = await house.row(lacking)
    ids = await register.queue_ids(house.db, {"default": 1})
    await house.hire()
    room, skip = {ids["default"]: 10}, {row["job_id"]}
    taken = await claim.from_bottom(house.db, house.worker, room, skip=skip)
    assert [run.id for run in taken] == [mine]
    marks = {(row["queue_id"], 1): LONG_AGO}
    assert await claim.from_marks(house.db, house.worker, marks, room, skip=skip) == []
    await queues.set_limits(house.db, "default", limit=5, by="mira", reason=None)
    assert (await claim.limited(house.db, house.worker, ids["default"], 5, skip=skip))[0] == 0
    assert (await claim.limited(house.db, house.worker, ids["default"], 5))[0] == 1
