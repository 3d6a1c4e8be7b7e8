"""A job's past as a calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from koken.model.states import State
from koken.store.database import Database
from koken.views import pastdays
from koken.views.pastdays import past_days
from tests.support.house import House
from tests.views.test_strips import number, one

MANY = """
insert into koken.run (workspace_id, job_id, version_id, queue_id, state, priority, rank,
                       max_attempts, max_infra_attempts, trigger_kind, logical_at, created_at)
select 1, $1, 1, 1, case when n = 1 then 'failed' else 'succeeded' end, 0, at, 1, 1, 'user', at, at
  from generate_series(1, 150) n, lateral (select koken.now() + n * interval '1 s' as at) x
"""


async def test_days_by_the_clock_of_a_zone(house: House, views: Database) -> None:
    """A run at 23:30 UTC belongs to the next day in Berlin; the first day is a Monday."""
    await house.job()
    for day, hour in ((4, 12), (9, 22), (9, 23), (10, 5)):
        await house.set_clock(datetime(2026, 3, day, hour, 30, tzinfo=UTC))
        await one(house, "report", State.FAILED if hour == 5 else State.SUCCEEDED, 1)
    job = await number(views, "report")
    berlin = ZoneInfo("Europe/Berlin")
    found = await past_days(
        views, job, workspace="default", zone=berlin, today=date(2026, 3, 10), weeks=2
    )
    assert (found[0].day, found[-1].day, len(found)) == (date(2026, 3, 2), date(2026, 3, 10), 9)
    told = {each.day.day: (each.total, each.look) for each in found if each.total}
    assert told == {4: (1, "succeeded"), 9: (1, "succeeded"), 10: (2, "failed")}
    assert found[-1].since == datetime(2026, 3, 9, 23, tzinfo=UTC)
    elsewhere = await past_days(
        views, job, workspace="default", zone=UTC, today=date(2026, 3, 10), weeks=2
    )
    assert {each.day.day: each.total for each in elsewhere if each.total} == {4: 1, 9: 2, 10: 1}


async def test_a_day_with_very_many_runs(house: House, views: Database) -> None:
    """The newest are looked at, and an open failure among the others is told all the same."""
    await house.job()
    job = await number(views, "report")
    await house.rows(MANY, job)
    found = await past_days(
        views, job, workspace="default", zone=UTC, today=date(2026, 3, 10), weeks=1
    )
    (day,) = [each for each in found if each.total]
    assert day.more
    assert (day.look, day.open_failures) == ("failed", 1)
    assert day.counts[State.SUCCEEDED] == pastdays.MOST + 1


async def test_no_past(house: House, views: Database) -> None:
    await house.job()
    job = await number(views, "report")
    found = await past_days(
        views, job, workspace="default", zone=UTC, today=date(2026, 3, 10), weeks=26
    )
    assert len(found) == 25 * 7 + 2
    assert {each.look for each in found} == {"none"}
