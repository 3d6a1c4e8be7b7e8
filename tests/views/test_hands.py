"""What needs a hand is found whatever stands in its way, and counted beyond what is listed."""

from __future__ import annotations

from datetime import timedelta

from koken.model.states import State
from koken.store.database import Database
from koken.views import hands
from koken.views.overview import overview
from koken.views.reading import reading
from tests.support.house import NOON, House

MORE = """
insert into koken.run (workspace_id, job_id, version_id, queue_id, state, priority, rank,
  max_attempts, max_infra_attempts, args, trigger_kind, logical_at, created_at, finished_at)
select r.workspace_id, r.job_id, r.version_id, r.queue_id, $2, 0, r.rank, 1, 3, '{}', 'api',
       r.logical_at, koken.now(), case when $2 = 'cancelled' then koken.now() end
  from koken.run r, generate_series(1, $3) where r.id = $1
"""


async def test_cancelled_runs_hide_no_failure(house: House, views: Database) -> None:
    await house.job()
    run = (await house.start()).run_id
    (claimed,) = await house.claim()
    await house.finish(claimed, State.FAILED)
    await house.rows(MORE, run, "cancelled", 201)
    async with reading(views) as session:
        found = await hands.failed(session, "default")
    assert [(each.run_id, each.count) for each in found.first] == [(run, 1)]
    assert found.total == 1


async def test_what_is_beyond_the_list_is_counted(house: House, views: Database) -> None:
    """Of one kind 61, of which no worker knows, of another 25."""
    await house.job()
    run = (await house.start()).run_id
    await house.rows(MORE, run, "running", 61)
    for number in range(25):
        await house.job(f"job-{number:02}")
        await house.start(f"job-{number:02}")
    for claimed in await house.claim(26):
        await house.finish(claimed, State.FAILED)
    found = await overview(views, workspace="default", midnight=NOON)
    assert (found.lost.total, len(found.lost.first)) == (61, 20)
    assert (found.failed.total, len(found.failed.first)) == (26, 20)
    assert found.hands == 87


async def test_the_newest_failure_is_the_one_that_ended_last(house: House, views: Database) -> None:
    """An old run that was retried and failed again comes before a younger one."""
    await house.job()
    await house.job("other")
    old = (await house.start()).run_id
    young = (await house.start()).run_id
    between = (await house.start("other")).run_id
    for claimed in await house.claim(3):
        await house.finish(claimed, State.FAILED)
    await house.pass_time(minutes=5)
    await house.retry(old)
    (claimed,) = await house.claim()
    await house.finish(claimed, State.FAILED)
    async with reading(views) as session:
        found = await hands.failed(session, "default")
    assert [each.run_id for each in found.first] == [old, between]
    assert found.first[0].since == NOON + timedelta(minutes=5)
    assert young < between
