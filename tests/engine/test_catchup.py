"""Due times that nobody fired, schedules that change, and the traces that skips leave."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from koken.engine import fire, grant, rescue, schedules
from koken.model.policy import Overlap
from koken.model.schedule import Schedule
from koken.model.states import State
from koken.model.timing import FAST
from tests.support.house import NOON, House

SIX_HOURS = timedelta(hours=6)


async def ticks(house: House) -> list[tuple[Any, ...]]:
    """Verdict, count and reason of each tick, oldest first."""
    rows = await house.rows("select verdict, count, reason from koken.tick order by due_at")
    return [tuple(row.values()) for row in rows]


async def due_times(house: House) -> list[datetime]:
    """The logical times of all runs, in their order."""
    return [row["logical_at"] for row in await house.rows("select * from koken.run order by id")]


async def schedule(house: House) -> Mapping[str, Any]:
    """The only schedule's row."""
    (row,) = await house.rows("select * from koken.schedule where retired_at is null")
    return row


async def stall(house: House, catchup: str, **options: Any) -> None:
    """An every-minute schedule, and no scheduler for six hours."""
    every_minute = Schedule("* * * * *", catchup=catchup, **options)
    await house.job(schedules=(every_minute,), overlap=Overlap.ALLOW)
    await house.set_clock(NOON + SIX_HOURS + timedelta(seconds=30))
    while (await schedule(house))["next_at"] <= house.now:
        await fire.fire(house.db)


async def test_none_of_the_missed_runs(house: House) -> None:
    """bug-060, none: no run, and one tick that stands for all 360."""
    await stall(house, "none")
    assert await due_times(house) == []
    assert await ticks(house) == [("missed", 360, "no scheduler ran (catchup none)")]


async def test_the_latest_of_the_missed_runs(house: House) -> None:
    """bug-060, latest: one run, and one tick for the others."""
    await stall(house, "latest")
    assert await due_times(house) == [NOON + SIX_HOURS]
    assert await ticks(house) == [
        ("missed", 359, "no scheduler ran; the latest is made up for"),
        ("started", 1, None),
    ]


async def test_all_of_the_missed_run_oldest_first(house: House) -> None:
    """bug-060, all: 360 runs, in their order."""
    await stall(house, "all", catchup_limit=500)
    assert await due_times(house) == [NOON + timedelta(minutes=n) for n in range(1, 361)]
    assert await ticks(house) == [("started", 1, None)] * 360


async def test_all_has_a_limit(house: House) -> None:
    """bug-060, all: beyond ``catchup_limit`` the oldest are given up, and said to be."""
    await stall(house, "all")
    newest = [NOON + timedelta(minutes=n) for n in range(261, 361)]
    assert await due_times(house) == newest
    assert await ticks(house) == [
        ("missed", 260, "more than catchup_limit=100 were missed"),
        *[("started", 1, None)] * 100,
    ]


async def test_one_run_stands_for_all(house: House) -> None:
    """bug-060, coalesce: one run, which knows since when."""
    await stall(house, "coalesce")
    (run,) = await house.rows("select logical_at, since_at from koken.run")
    assert tuple(run.values()) == (NOON + SIX_HOURS, NOON)
    assert await ticks(house) == [("started", 360, None)]


async def test_a_backlog_runs_one_at_a_time_oldest_first(house: House) -> None:
    """bug-109: limit 1 and a backlog of 24: never two at once, in the order of their due times."""
    hourly = Schedule("0 * * * *", catchup="all")
    await house.job(schedules=(hourly,), overlap=Overlap.QUEUE_ALL)
    await house.set_clock(NOON + timedelta(hours=24, seconds=5))
    await fire.fire(house.db)
    await grant.sweep(house.db)
    seen = []
    for _ in range(24):
        (run,) = await house.claim()
        assert await house.claim() == []
        seen.append(run.logical_at)
        await house.finish(run)
    assert seen == [NOON + timedelta(hours=n) for n in range(1, 25)]
    assert await house.claim() == []


async def at_three_in_the_afternoon(house: House, expression: str, **options: Any) -> None:
    """A daily schedule that has run last night, and is looked at in the afternoon."""
    await house.job(schedules=(Schedule(expression, **options),))
    await house.set_clock(NOON + timedelta(days=1, hours=3))
    await fire.fire(house.db)
    assert len(await due_times(house)) == 1


@pytest.mark.parametrize(
    ("changed", "next_at"),
    [
        (Schedule("15 2 * * *"), datetime(2026, 3, 12, 2, 15, tzinfo=UTC)),
        (Schedule("15 1 * * *", timezone="Asia/Tokyo"), datetime(2026, 3, 11, 16, 15, tzinfo=UTC)),
        (Schedule("15 1 * * *", name="nightly"), datetime(2026, 3, 12, 1, 15, tzinfo=UTC)),
        (Schedule("* * * * *"), datetime(2026, 3, 11, 15, 1, tzinfo=UTC)),
        (Schedule("15 2 * * *", catchup="all"), datetime(2026, 3, 12, 2, 15, tzinfo=UTC)),
    ],
    ids=["time", "zone", "name", "rhythm", "catchup"],
)
async def test_a_change_starts_nothing(house: House, changed: Schedule, next_at: datetime) -> None:
    """bug-067: a changed schedule counts from the change; what was due before is not made up."""
    await at_three_in_the_afternoon(house, "15 1 * * *")
    await house.job(schedules=(changed,))
    await fire.fire(house.db)
    assert len(await due_times(house)) == 1
    assert (await schedule(house))["next_at"] == next_at


async def test_a_week_of_pause_starts_nothing(house: House) -> None:
    """bug-067: a resume runs nothing at once; one skipped tick says who paused, and how many."""
    await at_three_in_the_afternoon(house, "15 1 * * *")
    await schedules.pause(house.db, "report", workspace="default", by="anna", reason="holidays")
    await house.pass_time(days=7)
    await fire.fire(house.db)
    await schedules.resume(house.db, "report", workspace="default", by="anna", reason=None)
    await fire.fire(house.db)
    assert len(await due_times(house)) == 1
    assert (await ticks(house))[-1] == (
        "skipped",
        7,
        "paused by anna since 2026-03-11 15:00 UTC",
    )
    assert (await schedule(house))["next_at"] == datetime(2026, 3, 19, 1, 15, tzinfo=UTC)


async def test_a_pause_of_more_due_times_than_are_counted(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one tick says "at least", and still reaches to the last of them; counted on a thread."""
    counting: list[bool] = []
    count = schedules.stretch

    def counted(*given: Any) -> Any:
        counting.append(threading.current_thread() is threading.main_thread())
        return count(*given)

    monkeypatch.setattr(schedules, "stretch", counted)
    await house.job(schedules=(Schedule("1s"),))
    await schedules.pause(house.db, "report", workspace="default", by="anna", reason=None)
    await house.pass_time(hours=3)
    await schedules.resume(house.db, "report", workspace="default", by="anna", reason=None)
    paused = "paused by anna since 2026-03-10 12:00 UTC"
    assert await ticks(house) == [("skipped", 10_001, f"at least 10,000 due times: {paused}")]
    assert await house.value("select until_at from koken.tick") == house.now
    assert counting == [False]
    await fire.fire(house.db)
    assert len(await ticks(house)) == 1


async def test_five_skips_with_five_reasons(house: House) -> None:
    """bug-074: by overlap, by pause, by a missed window, by a clock change, by a full buffer."""
    berlin = Schedule("cron(30 2 * * ? *)", timezone="Europe/Berlin")
    await house.job("gap", schedules=(berlin,))
    await house.job("plain", schedules=(Schedule("0 * * * *"),))
    await house.job("buffer", schedules=(Schedule("0 * * * *"),), overlap=Overlap.QUEUE_ONE)
    await house.job("missed", schedules=(Schedule("0 * * * *", catchup="none"),))
    await house.job("paused", schedules=(Schedule("0 * * * *"),))
    await schedules.pause(house.db, "paused", workspace="default", by="anna", reason=None)
    first = (await house.start("plain")).run_id
    await house.start("buffer")
    await house.claim()
    waiting = (await house.start("buffer")).run_id

    await house.set_clock(NOON + timedelta(hours=1, seconds=1))
    await fire.fire(house.db)
    await schedules.resume(house.db, "paused", workspace="default", by="anna", reason=None)
    await house.set_clock(NOON + timedelta(hours=3, seconds=30))
    await fire.fire(house.db)
    await house.set_clock(datetime(2026, 3, 29, 3, 0, tzinfo=UTC))
    await fire.fire(house.db)

    rows = await house.rows(
        "select distinct on (j.name) j.name, t.due_at, t.verdict, t.reason, t.blocker_id"
        " from koken.tick t join koken.schedule s on s.id = t.schedule_id"
        " join koken.job j on j.id = s.job_id"
        " where t.verdict <> 'started' and (j.name <> 'gap' or t.verdict = 'skipped')"
        " order by j.name, t.due_at"
    )
    one = NOON + timedelta(hours=1)
    gap = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert [tuple(row.values()) for row in rows] == [
        ("buffer", one, "skipped", f"run {waiting} is waiting to start (queue_one)", waiting),
        (
            "gap",
            gap,
            "skipped",
            "2026-03-29 02:30 did not exist in Europe/Berlin: clocks went forward",
            None,
        ),
        ("missed", NOON + timedelta(hours=2), "missed", "no scheduler ran (catchup none)", None),
        ("paused", one, "skipped", "paused by anna since 2026-03-10 12:00 UTC", None),
        ("plain", one, "skipped", f"run {first} still goes (skip_if_running)", first),
    ]


async def test_a_manual_run_counts_for_the_ticks(house: House) -> None:
    """bug-020: ticks during a run started by hand are skipped, as after a scheduled one."""
    await house.job(schedules=(Schedule("* * * * *"),))
    manual = await house.start(by="anna")
    (run,) = await house.claim()
    for _ in range(2):
        await house.pass_time(minutes=1)
        await fire.fire(house.db)
    reason = f"run {manual.run_id} still goes (skip_if_running)"
    assert await ticks(house) == [("skipped", 1, reason)] * 2
    second = await house.start(by="anna")
    assert second.verdict == "started"
    await house.finish(run)
    (run,) = await house.claim()
    await house.finish(run)
    await house.pass_time(minutes=1)
    await fire.fire(house.db)
    assert (await ticks(house))[-1] == ("started", 1, None)


async def test_a_dead_run_does_not_stop_its_schedule(house: House) -> None:
    """bug-017: what forbids overlap ends with its worker's loss, and the schedule goes on."""
    await house.job(schedules=(Schedule("* * * * *"),), max_infra_attempts=0)
    await house.pass_time(minutes=1)
    await fire.fire(house.db)
    (run,) = await house.claim()
    await house.pass_time(minutes=1)
    await fire.fire(house.db)
    await house.rows("update koken.worker set lost_at = koken.now()")
    await rescue.rescue(house.db, FAST)
    assert await house.state(run.id) == State.FAILED
    await house.pass_time(minutes=1)
    await fire.fire(house.db)
    assert await ticks(house) == [
        ("started", 1, None),
        ("skipped", 1, f"run {run.id} still goes (skip_if_running)"),
        ("started", 1, None),
    ]
