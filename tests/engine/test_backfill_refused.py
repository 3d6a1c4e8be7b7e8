"""Backfills that cannot be: refused with what would help, and nothing is started."""

from __future__ import annotations

import pytest

from koken.errors import InvalidArguments, NotFound, Refused
from koken.model.schedule import Schedule
from tests.engine.test_backfill import at, carry, outage, plan, runs
from tests.support.house import NOON, House


async def test_at_once_is_for_jobs_that_may_overlap(house: House) -> None:
    await outage(house)
    with pytest.raises(InvalidArguments, match=r"one at a time \(overlap skip_if_running\)"):
        await plan(house, at(1), at(6), at_once=2)


async def test_too_many_are_refused_with_their_number(house: House) -> None:
    await house.job(schedules=(Schedule("* * * * *"),))
    with pytest.raises(InvalidArguments) as refused:
        await carry(house, at(-24), NOON)
    assert str(refused.value) == (
        "1,440 due times have no run; one backfill starts at most 1,000. "
        "The first 1,000 are those before 2026-03-10T04:40:00+00:00"
    )
    with pytest.raises(InvalidArguments, match="more than 10,000 due times"):
        await plan(house, at(-24 * 30), NOON)
    with pytest.raises(InvalidArguments, match="no stretch of time"):
        await plan(house, NOON, NOON)
    assert await runs(house) == []


async def test_a_schedule_that_the_job_has_no_more(house: House) -> None:
    await outage(house)
    await house.job()
    with pytest.raises(Refused, match="report has had no schedule '1' since 2026-03-10 18:30 UTC"):
        await carry(house, at(1), at(7))
    with pytest.raises(NotFound, match="no schedule 7 here"):
        await carry(house, at(1), at(7), schedule_id=7)
    with pytest.raises(NotFound, match="no schedule 1 here"):
        await carry(house, at(1), at(7), workspace="acme")


async def test_arguments_that_fit_no_more_start_nothing(house: House) -> None:
    await house.job(schedules=(Schedule("0 * * * *", args={"who": "x"}),))
    await house.rows(
        "update koken.schedule set declared = jsonb_set(declared, '{args}', '{\"odd\": 1}')"
    )
    with pytest.raises(InvalidArguments, match="report has no argument odd"):
        await carry(house, at(-3), NOON)
    assert await house.value("select count(*) from koken.tick") == 0
    assert await house.value("select count(*) from koken.event where verb = 'backfill'") == 0
