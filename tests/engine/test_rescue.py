"""Rescue: a worker is lost in two looks, its runs go on with others, nothing is counted twice."""

from __future__ import annotations

import asyncio

import pytest

from koken.engine import record, register, rescue
from koken.engine.record import Keeping
from koken.errors import DeclarationError
from koken.model.policy import Lock
from koken.model.states import State
from koken.model.timing import DEFAULT, FAST, Timing
from tests.support.house import House


async def look(house: House) -> rescue.Rescued:
    """One look by somebody."""
    return await rescue.rescue(house.db, DEFAULT)


async def beat(house: House, worker: int) -> list[int] | None:
    """A beat of a worker."""
    async with house.db.session() as session:
        return await register.beat(session, worker, 0)


async def test_lost_in_two_looks(house: House) -> None:
    await house.job()
    await house.start()
    (run,) = await house.claim()
    await house.pass_time(seconds=60)
    assert (await look(house)).suspects == []
    await house.pass_time(seconds=1)
    assert (await look(house)).suspects == [house.worker]
    await house.pass_time(seconds=8)
    assert (await look(house)).lost == []
    await house.pass_time(seconds=1)
    found = await look(house)
    assert (found.lost, found.runs) == (["w"], 1)
    row = await house.row(run.id)
    assert (row["state"], row["attempt"], row["infra_attempt"], row["lease"]) == ("ready", 0, 1, 1)
    (attempt,) = await house.rows("select outcome, error from koken.attempt")
    assert attempt == {
        "outcome": "lost",
        "error": '{"type": "WorkerLost", "message": "worker w was lost"}',
    }


async def lose(house: House, worker: int | None = None) -> None:
    """A worker is lost, and others take over what it carried."""
    text = "update koken.worker set lost_at = koken.now() where id = $1 and lost_at is null"
    await house.rows(text, worker or house.worker)
    await rescue.rescue(house.db, DEFAULT)


async def test_a_beat_between_the_looks_saves_the_worker(house: House) -> None:
    worker = await house.hire()
    await house.pass_time(seconds=61)
    assert (await look(house)).suspects == [worker]
    assert await beat(house, worker) == []
    await house.pass_time(seconds=20)
    assert (await look(house)).lost == []


async def test_the_lost_hear_it_with_their_next_beat(house: House) -> None:
    worker = await house.hire()
    await lose(house)
    assert await beat(house, worker) is None


async def test_a_clock_step_loses_nobody(house: House) -> None:
    """All are suspect after +1 h and after -1 h, and all are cleared by their next beat."""
    workers = [await house.hire(name) for name in "abc"]
    for hours in (1, -1):
        await house.pass_time(hours=hours)
        assert (await look(house)).suspects == workers
        for worker in workers:
            assert await beat(house, worker) == []
        await house.pass_time(seconds=10)
        assert (await look(house)).lost == []
        for worker in workers:
            await beat(house, worker)


async def test_what_one_leaves_behind_needs_no_waiting(house: House) -> None:
    await house.job()
    await house.start()
    (run,) = await house.claim()
    await register.leave(house.db, house.worker)
    assert (await look(house)).runs == 1
    assert await house.state(run.id) == "ready"


async def test_growing_waits_then_the_end_of_the_infra_budget(house: House) -> None:
    await house.job(max_infra_attempts=3)
    run_id = (await house.start()).run_id
    seen = []
    for _ in range(4):
        await house.rows("update koken.run set state = 'ready' where state = 'waiting'")
        worker = await house.hire()
        await house.claim(worker=worker)
        await lose(house)
        row = await house.row(run_id)
        wait = row["wake_at"] and (row["wake_at"] - house.now).total_seconds()
        seen.append((row["state"], wait, row["attempt"], row["infra_attempt"]))
    assert seen == [
        ("ready", None, 0, 1),
        ("waiting", 5.0, 0, 2),
        ("waiting", 10.0, 0, 3),
        ("failed", None, 0, 4),
    ]
    assert (await house.row(run_id))["error"] == (
        '{"type": "WorkerLost", "message": "worker w was lost; that was loss 4, and 3 are borne"}'
    )


async def test_an_unsafe_run_is_left_to_a_person(house: House) -> None:
    await house.job(max_infra_attempts=0)
    run_id = (await house.start()).run_id
    await house.claim()
    await lose(house)
    row = await house.row(run_id)
    assert row["state"] == "failed"
    assert "may not be repeated" in row["error"]


async def test_a_cancel_that_was_asked_ends_with_the_worker(house: House) -> None:
    await house.job()
    run_id = (await house.start()).run_id
    await house.claim()
    await house.rows("update koken.run set cancel_requested_at = koken.now() where id = $1", run_id)
    await lose(house)
    assert await house.state(run_id) == "cancelled"


async def test_two_rescuers_count_one_loss(house: House) -> None:
    """bug-033."""
    await house.job()
    await house.start_many(200)
    await house.claim(200)
    await asyncio.gather(*(lose(house) for _ in range(6)))
    rows = await house.rows("select infra_attempt, count(*) as n from koken.run group by 1")
    assert rows == [{"infra_attempt": 1, "n": 200}]
    assert await house.value("select count(*) from koken.attempt") == 200


async def test_a_late_finish_of_the_lost_changes_nothing(house: House) -> None:
    """bug-034."""
    await house.job()
    await house.start()
    (old,) = await house.claim()
    await lose(house)
    done = await house.finish(old, result='"late"')
    assert (done.stale, await house.state(old.id)) == ({old.id}, "ready")
    worker = await house.hire("other")
    (new,) = await house.claim(worker=worker)
    assert (await house.finish(old)).stale == {old.id}
    await house.finish(new, result='"second"')
    assert (await house.row(new.id))["result"] == '"second"'


async def test_checkpoints_are_fenced_and_survive(house: House) -> None:
    """X-01, I3: what the first attempt kept is there in the second; a stale one keeps nothing."""
    await house.job()
    await house.start()
    (old,) = await house.claim()
    stands = await record.record(
        house.db, [Keeping(old.id, 1, "step:a", "1", False)], [], [], clock=0
    )
    assert stands == {(old.id, "step:a"): "1"}
    await lose(house)
    stale = await record.record(
        house.db, [Keeping(old.id, 1, "step:b", "2", False)], [], [], clock=0
    )
    assert stale == {}
    await house.claim(worker=await house.hire("other"))
    past = await record.checkpoints(house.db, old.id)
    assert {key: kept.value for key, kept in past.kept.items()} == {"step:a": "1"}


async def test_a_step_keeps_its_first_value_and_a_saved_one_its_last(house: House) -> None:
    await house.job()
    await house.start()
    (run,) = await house.claim()

    async def keep(key: str, value: str) -> str:
        keeping = Keeping(run.id, run.lease, key, value, key.startswith("saved"))
        return (await record.record(house.db, [keeping], [], [], clock=0))[run.id, key]

    assert [await keep("step:a", "1"), await keep("step:a", "2")] == ["1", "1"]
    assert [await keep("saved:a", "1"), await keep("saved:a", "2")] == ["1", "2"]


async def test_a_lock_goes_on_when_its_holder_is_lost_for_good(house: House) -> None:
    """bug-014."""
    await house.job(lock=Lock("k"), max_infra_attempts=0)
    await house.start()
    waiting = (await house.start()).run_id
    await house.claim()
    await lose(house)
    assert await house.state(waiting) == "ready"


async def test_a_deleted_worker_row_counts_as_lost(house: House) -> None:
    await house.job()
    run_id = (await house.start()).run_id
    await house.claim()
    await house.rows("delete from koken.worker")
    assert (await look(house)).runs == 0
    await rescue.adopt_orphans(house.db)
    assert (await look(house)).runs == 1
    assert await house.state(run_id) == "ready"


async def test_one_that_leaves_in_order_is_nobody_to_look_for(house: House) -> None:
    worker = await house.hire()
    await register.leave(house.db, worker)
    await house.pass_time(hours=1)
    assert (await look(house)).suspects == []
    row = (await house.rows("select stopped_at, cleared_at from koken.worker"))[0]
    assert None not in row.values()


def test_the_takeover_time_of_the_profiles() -> None:
    assert (DEFAULT.takeover, FAST.takeover) == (73.0, 28.0)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"stop_after": 17.9}, "stop_after ≥ 3 × beat"),
        ({"kill_after": 44.9}, "kill_after ≥ stop_after"),
        ({"lease": 51.0}, "≤ lease"),
        ({"confirm": 8.9}, "confirm ≥ beat"),
    ],
)
def test_timings_that_would_let_two_carry_one_run_are_refused(
    change: dict[str, float], rule: str
) -> None:
    with pytest.raises(DeclarationError, match=rule):
        Timing(**change)


async def test_a_parked_run_of_a_lost_worker_is_nobodys(house: House) -> None:
    await house.job()
    await house.start()
    (run,) = await house.claim()
    await house.finish(run, State.WAITING, delay=60.0)
    await lose(house)
    assert await house.state(run.id) == "waiting"
