"""Runs for due times of the past: which, once each, one after the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from koken.engine import backfill, fire, grant, prune, schedules
from koken.engine.backfill import Order
from koken.model.backfill import AHEAD, PAUSED, RAN, STOOD_FOR, Backfilled, BackfillPlan
from koken.model.policy import Overlap
from koken.model.schedule import Schedule
from koken.model.states import State
from koken.store.database import Database
from tests.support.house import NOON, House

KEEP = 90 * 86400.0


def order(since: datetime, until: datetime, **options: Any) -> Order:
    """What anna wants of the first schedule."""
    given = {"schedule_id": 1, "workspace": "default", "by": "anna", "reason": "outage"}
    return Order(since=since, until=until, **given | options)


async def carry(house: House, since: datetime, until: datetime, **options: Any) -> Backfilled:
    return await backfill.backfill(house.db, order(since, until, **options), keep=KEEP)


async def plan(house: House, since: datetime, until: datetime, **options: Any) -> BackfillPlan:
    return await backfill.plan(house.db, order(since, until, **options), keep=KEEP)


async def ticks(house: House) -> list[tuple[Any, ...]]:
    """Due time as ``HH:MM``, verdict, count, reason and run of each tick, oldest first."""
    rows = await house.rows("select * from koken.tick order by due_at")
    return [
        (f"{row['due_at']:%H:%M}", row["verdict"], row["count"], row["reason"], row["run_id"])
        for row in rows
    ]


async def runs(house: House) -> list[Mapping[str, Any]]:
    return await house.rows("select * from koken.run order by id")


def at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


async def outage(house: House, **spec: Any) -> None:
    """An hourly schedule, and no scheduler from noon to half past six."""
    hourly = Schedule("0 * * * *", catchup="none", args={"who": "{logical_time:%H:%M}"})
    await house.job(schedules=(hourly,), **spec)
    await house.set_clock(at(6.5))
    await fire.fire(house.db)
    missed = "no scheduler ran (catchup none)"
    assert await ticks(house) == [("13:00", "missed", 6, missed, None)]


async def test_missed_due_times_get_their_runs(house: House) -> None:
    """Each with its logical time and the schedule's arguments; what is left stays missed."""
    await outage(house)
    done = await carry(house, at(2), at(4))
    assert (done.runs, done.plan.due) == ((1, 2), (at(2), at(3)))
    missed, told = "no scheduler ran (catchup none)", "backfilled by anna: outage"
    assert await ticks(house) == [
        ("13:00", "missed", 1, missed, None),
        ("14:00", "started", 1, told, 1),
        ("15:00", "started", 1, told, 2),
        ("16:00", "missed", 3, missed, None),
    ]
    assert [
        (row["logical_at"], row["args"], row["trigger_kind"], row["trigger_by"], row["schedule_id"])
        for row in await runs(house)
    ] == [
        (at(2), '{"who": "14:00"}', "schedule", "anna", 1),
        (at(3), '{"who": "15:00"}', "schedule", "anna", 1),
    ]
    (event,) = await house.rows("select * from koken.event where verb = 'backfill'")
    assert (event["by"], event["reason"], event["job_id"]) == ("anna", "outage", 1)
    assert json.loads(event["detail"]) == {
        "schedule": "1",
        "name": "1",
        "from": "2026-03-10T14:00:00+00:00",
        "to": "2026-03-10T16:00:00+00:00",
        "runs": 2,
        "at_once": 1,
    }


async def test_asking_again_starts_only_what_is_left(house: House) -> None:
    await outage(house)
    await carry(house, at(2), at(4))
    planned = await plan(house, at(1), at(7))
    assert planned.due == (at(1), at(4), at(5), at(6))
    assert planned.kept == {RAN: 2}
    done = await carry(house, at(1), at(7))
    assert done.runs == (3, 4, 5, 6)
    assert [row[1:3] for row in await ticks(house)] == [("started", 1)] * 6
    assert (await carry(house, at(1), at(7))).runs == ()
    assert await house.value("select count(*) from koken.event where verb = 'backfill'") == 2


async def test_a_plan_changes_nothing(house: House) -> None:
    await outage(house)
    planned = await plan(house, at(-3), at(7))
    assert planned.due == tuple(at(n) for n in range(-3, 7))
    assert planned.notes == (
        "until they are through, new due times are skipped (overlap skip_if_running)",
    )
    assert await runs(house) == []
    assert await house.value("select count(*) from koken.tick") == 1


async def test_due_times_from_before_the_schedule_was_made(house: House) -> None:
    """They get runs, which are remembered from now on, not from when they were due."""
    await house.job(schedules=(Schedule("0 0 1 * *"),))
    year_ago = NOON - timedelta(days=365)
    planned = await plan(house, year_ago, NOON)
    assert len(planned.due) == 12
    assert planned.notes[0] == (
        "9 of them are from before 2025-12-10: whether they have run is not remembered for so long"
    )
    assert len((await carry(house, year_ago, NOON)).runs) == 12
    await house.pass_time(days=80)
    await fire.fire(house.db)
    await prune.prune_rest(house.db, {"ticks": KEEP, "events": KEEP})
    assert (await plan(house, year_ago, NOON)).kept == {RAN: 12}
    await house.pass_time(days=11)
    await prune.prune_rest(house.db, {"ticks": KEEP, "events": KEEP})
    assert (await plan(house, year_ago, NOON)).kept == {}


async def test_two_at_once(house: House) -> None:
    """Four people ask at the same moment, over connections of their own: one run a due time."""
    await house.job(schedules=(Schedule("*/5 * * * *"),))
    others = [Database(house.db.url) for _ in range(4)]
    wanted = order(at(-24), NOON)
    done = await asyncio.gather(*(backfill.backfill(each, wanted, keep=KEEP) for each in others))
    for each in others:
        await each.close()
    assert sum(len(each.runs) for each in done) == 288
    counts = "select count(*) as n, count(distinct logical_at) as different from koken.run"
    assert [dict(row) for row in await house.rows(counts)] == [{"n": 288, "different": 288}]
    verdicts = "select count(*) from koken.tick t join koken.run r on r.id = t.run_id"
    assert await house.value(f"{verdicts} and r.logical_at = t.due_at") == 288


async def test_beside_a_schedule_that_fires(house: House) -> None:
    """What falls due meanwhile is the schedule's; nothing gets two runs."""
    await house.job(schedules=(Schedule("* * * * *"),), overlap=Overlap.ALLOW)
    other = Database(house.db.url)
    await house.pass_time(seconds=61)
    wanted = order(at(-2), at(1))
    done, _ = await asyncio.gather(backfill.backfill(house.db, wanted, keep=KEEP), fire.fire(other))
    await fire.fire(other)
    await other.close()
    assert len(done.runs) == 121
    assert await house.value("select count(distinct logical_at) from koken.run") == 122
    assert await house.value("select count(*) from koken.run") == 122


async def test_they_go_one_at_a_time_oldest_first(house: House) -> None:
    """The rule would skip all but one; the runs of a backfill stand in line instead."""
    await outage(house)
    await carry(house, at(1), at(7))
    seen = []
    for _ in range(6):
        (run,) = await house.claim()
        assert await house.claim() == []
        seen.append(run.logical_at)
        await house.finish(run)
        await grant.sweep(house.db)
    assert seen == [at(n) for n in range(1, 7)]


async def test_so_many_at_once_where_runs_may_overlap(house: House) -> None:
    await outage(house, overlap=Overlap.ALLOW)
    await carry(house, at(1), at(6), at_once=2)
    first = await house.claim()
    assert [run.logical_at for run in first] == [at(1), at(2)]
    assert (await house.start()).verdict == "started"
    await house.claim()
    await house.finish(first[0])
    await grant.sweep(house.db)
    assert [run.logical_at for run in await house.claim()] == [at(3)]
    held = "select count(*) from koken.hold h join koken.lock k on k.id = h.lock_id"
    assert await house.value(f"{held} where k.kind = 'backfill' and h.granted_at is not null") == 2
    assert await house.value(f"{held} where k.kind <> 'backfill'") == 0


async def test_what_a_pause_holds_back_is_decided_when_it_ends(house: House) -> None:
    await outage(house)
    await schedules.pause(house.db, "report", workspace="default", by="bob", reason="holidays")
    await house.set_clock(at(9.5))
    planned = await plan(house, at(5), at(10))
    assert (planned.due, planned.kept, planned.notes) == ((at(5), at(6)), {PAUSED: 3}, ())
    await schedules.resume(house.db, "report", workspace="default", by="bob", reason=None)
    assert (await carry(house, at(5), at(10))).plan.due == tuple(at(n) for n in range(5, 10))
    told, missed = "backfilled by anna: outage", "no scheduler ran (catchup none)"
    assert await ticks(house) == [
        ("13:00", "missed", 4, missed, None),
        *[(f"{17 + n}:00", "started", 1, told, n + 1) for n in range(5)],
    ]


async def test_the_future_is_the_schedules_own(house: House) -> None:
    await outage(house)
    planned = await plan(house, at(6), at(9))
    assert (planned.due, planned.kept) == ((at(6),), {AHEAD: 2})


async def test_a_coalesced_run_stands_for_its_due_times(house: House) -> None:
    """Also when that run is gone, of which the tick tells."""
    await house.job(schedules=(Schedule("0 * * * *", catchup="coalesce"),))
    await house.set_clock(at(6.5))
    await fire.fire(house.db)
    expected = ((at(0),), {STOOD_FOR: 3})
    planned = await plan(house, at(0), at(4))
    assert (planned.due, planned.kept) == expected
    assert (await plan(house, at(4), at(7))).kept == {STOOD_FOR: 2, RAN: 1}
    await carry(house, at(0), at(1))
    await house.rows("delete from koken.run")
    assert (await plan(house, at(0), at(4))).kept == {RAN: 1, STOOD_FOR: 3}


async def test_a_start_that_failed_may_be_made_up_for(house: House) -> None:
    """So may one that was skipped because another run went."""
    await outage(house)
    (first,) = (await carry(house, at(6), at(7))).runs
    await house.set_clock(at(7))
    await fire.fire(house.db)
    assert (await ticks(house))[-1][1:4] == (
        "skipped",
        1,
        f"run {first} is waiting to start (skip_if_running)",
    )
    (second,) = (await carry(house, at(7), at(8))).runs
    assert (await ticks(house))[-1] == ("19:00", "started", 1, "backfilled by anna: outage", second)


@pytest.mark.parametrize(
    ("day", "due"),
    [
        (
            datetime(2025, 3, 30, tzinfo=UTC),
            ["2025-03-30T01:00:00+00:00", "2025-03-31T00:30:00+00:00"],
        ),
        (
            datetime(2025, 10, 26, tzinfo=UTC),
            ["2025-10-26T00:30:00+00:00", "2025-10-27T01:30:00+00:00"],
        ),
    ],
    ids=["clocks go forward", "clocks go back"],
)
async def test_days_on_which_clocks_change(house: House, day: datetime, due: list[str]) -> None:
    """The night at half past two in Berlin: as the schedule itself would have fired."""
    await house.job(schedules=(Schedule("30 2 * * *", timezone="Europe/Berlin"),))
    done = await carry(house, day, day + timedelta(days=2))
    assert [each.isoformat() for each in done.plan.due] == due
    assert [row["logical_at"].isoformat() for row in await runs(house)] == due


async def test_a_long_stretch_is_taken_page_by_page(house: House) -> None:
    await house.job(schedules=(Schedule("* * * * *", catchup="none"),))
    await house.set_clock(at(5) + timedelta(seconds=30))
    await fire.fire(house.db)
    begin = NOON + timedelta(minutes=50)
    assert len((await carry(house, begin, begin + timedelta(minutes=250))).runs) == 250
    reason = "no scheduler ran (catchup none)"
    found = await ticks(house)
    assert found[0] == ("12:01", "missed", 49, reason, None)
    assert found[-1] == ("17:00", "missed", 1, reason, None)
    assert len(found) == 252


async def test_a_failure_does_not_hold_up_the_rest(house: House) -> None:
    await outage(house)
    await carry(house, at(1), at(3))
    (run,) = await house.claim()
    await house.finish(run, State.FAILED)
    await grant.sweep(house.db)
    assert [run.logical_at for run in await house.claim()] == [at(2)]
