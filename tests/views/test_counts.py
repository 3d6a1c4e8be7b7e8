"""Counts go up to 1,000, however much there is to count."""

from __future__ import annotations

from koken.config import KEEP
from koken.model.policy import Overlap
from koken.store.database import Database
from koken.views import floor, history, runs
from koken.views.why import why
from tests.support.house import House

TICKS = """
insert into koken.tick (schedule_id, due_at, until_at, verdict, fired_at)
select {schedule}, koken.now() - n * interval '1 min', koken.now(), 'missed',
       koken.now() - n * interval '1 min'
  from generate_series(0, {number}) n
"""


async def test_old_ticks(house: House, views: Database) -> None:
    """Of two schedules, the last tick of each stays; a schedule without a tick has none."""
    for name in ("a", "b", "c"):
        await house.rows(
            "insert into koken.schedule (workspace_id, job_id, name, declared, expression,"
            " timezone, catchup, tzdata, cursor_at)"
            " values (1, 1, $1, '{}', '', '', '', '', koken.now())",
            name,
        )
    await house.rows(TICKS.format(schedule=1, number=600))
    await house.rows(TICKS.format(schedule=2, number=5))
    assert (await history.old(views, KEEP | {"ticks": 0.0})).ticks == 605
    assert (await history.old(views, KEEP | {"ticks": 595 * 60.0 - 1})).ticks == 6
    await house.rows(TICKS.format(schedule=3, number=600))
    assert (await history.old(views, KEEP | {"ticks": 0.0})).ticks == 1001


async def test_those_who_wait_before_a_run(house: House, views: Database) -> None:
    await house.job(overlap=Overlap.QUEUE_ALL)
    first = (await house.start()).run_id
    await house.rows(
        "insert into koken.hold (lock_id, run_id, mode, when_held, rank, not_before)"
        " select lock_id, -n, mode, when_held, rank - interval '1 h', not_before"
        " from koken.hold, generate_series(1, 1100) n where run_id = $1",
        first,
    )
    last = await runs.get(views, (await house.start()).run_id, workspace="default")
    (cause,) = (await why(views, last)).causes
    assert ", with 1,000+ before it in line, is held by" in cause.text


async def test_a_full_queue(house: House, views: Database) -> None:
    """bug-037: all slots are taken and runs wait, and the list of queues says so."""
    await house.job()
    await house.hire(default=2)
    await house.start_many(2)
    await house.claim(2)
    assert [row.full for row in await floor.queues(views)] == [False]
    await house.start_many(1)
    (row,) = await floor.queues(views)
    assert (row.full, row.to_json()["full"], row.ready) == (True, True, 1)
