"""What may go and what stays; a schema with an odd name; user jobs beside scheduled ones."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from pathlib import Path

from koken.config import KEEP
from koken.engine import control, fire, prune, queues, wake
from koken.engine.claim import from_bottom
from koken.engine.register import queue_ids
from koken.model.policy import Overlap
from koken.model.schedule import Schedule
from koken.model.states import State
from koken.store.migrate import migrate
from tests.support.house import NOON, House, open_house

HOUR = dict.fromkeys(KEEP, 3600.0)
DAY = 86400.0
LINES = "insert into koken.log_line (run_id, lease, at, level, stream, text)"
LINE = f"{LINES} values"


async def ended(house: House, job: str, state: State) -> int:
    """A run that has ended so."""
    started = await house.start(job)
    (run,) = await house.claim()
    await house.finish(run, state)
    return started.run_id


async def left(house: House) -> list[int]:
    """The runs that are left."""
    return [row["id"] for row in await house.rows("select id from koken.run order by id")]


async def test_only_what_has_ended_goes(house: House) -> None:
    """bug-134: waiting, running, blocked and paused ones stay, and the last success of a job."""
    await house.job("old")
    await house.job("locked", overlap=Overlap.QUEUE_ALL)
    gone = [
        await ended(house, "old", state)
        for state in (State.SUCCEEDED, State.FAILED, State.SKIPPED, State.CANCELLED)
    ]
    last_success = await ended(house, "old", State.SUCCEEDED)
    gone.append(await ended(house, "old", State.FAILED))
    running = (await house.start("old")).run_id
    holds_lock = (await house.start("locked")).run_id
    assert len(await house.claim()) == 2
    blocked = (await house.start("locked")).run_id
    waiting = (await house.start("old", delay=2 * DAY)).run_id
    await house.start("old", queue="paused")
    await queues.pause(house.db, "paused", paused=True, by="anna", reason=None)
    paused = max(await left(house))
    await house.pass_time(hours=26)
    assert (await prune.prune(house.db, HOUR, dry_run=True)).runs == len(gone)
    assert (await prune.prune(house.db, HOUR)).runs == len(gone)
    assert await left(house) == sorted(
        [last_success, running, holds_lock, blocked, waiting, paused]
    )


async def test_the_last_run_of_a_job_stays(house: House) -> None:
    """However old, one can see how it ended."""
    await house.job()
    await ended(house, "report", State.SUCCEEDED)
    success = await ended(house, "report", State.SUCCEEDED)
    last = await ended(house, "report", State.CANCELLED)
    await house.pass_time(days=1000)
    await prune.prune(house.db, HOUR)
    assert await left(house) == [success, last]


async def test_a_failure_that_stops_its_job_stays(house: House) -> None:
    """P-06: skip_if_failed stays shut until somebody acknowledges, however long that takes."""
    await house.job(overlap=Overlap.SKIP_IF_FAILED)
    failed = await ended(house, "report", State.FAILED)
    for _ in range(3):
        await house.pass_time(days=1)
        assert (await house.start()).verdict == "skipped"
    await prune.prune(house.db, HOUR)
    assert failed in await left(house)
    assert (await house.start()).verdict == "skipped"
    await control.acknowledge(house.db, failed, by="anna", reason=None)
    assert (await house.start()).verdict == "started"
    await prune.prune(house.db, HOUR)
    assert failed not in await left(house)


async def test_each_outcome_and_each_job_has_its_time(house: House) -> None:
    """The default keeps failures longer; a job's own rule wins."""
    await house.job("usual")
    await house.job("brief", keep={"failed": 60.0})
    kept = [await ended(house, "usual", State.FAILED)]
    await ended(house, "usual", State.SUCCEEDED)
    kept.append(await ended(house, "usual", State.SUCCEEDED))
    await ended(house, "brief", State.FAILED)
    kept.append(await ended(house, "brief", State.FAILED))
    await house.pass_time(days=31)
    await prune.prune(house.db, KEEP)
    assert await left(house) == kept


async def test_a_workspace_has_its_time(house: House) -> None:
    """As the docs say: set by SQL, for the outcomes that it names; a job's own rule wins."""
    await house.job("usual")
    await house.job("long", keep={"succeeded": 90 * DAY})
    for workspace in ("default", "acme"):
        for job in ("usual", "long"):
            for state in (State.FAILED, State.SUCCEEDED, State.SUCCEEDED):
                await house.start(job, workspace=workspace)
                (run,) = await house.claim()
                await house.finish(run, state)
    page = Path(__file__).parents[2] / "docs" / "howto" / "run-in-production.md"
    (statement,) = re.findall(r"^update koken\.workspace .*$", page.read_text(), re.MULTILINE)
    await house.rows(statement)
    await house.pass_time(days=2)
    assert (await prune.prune(house.db, KEEP, dry_run=True)).runs == 1
    await house.pass_time(days=6)
    await prune.prune(house.db, KEEP)
    kept = await house.rows(
        "select w.name as workspace, j.name as job, array_agg(r.state order by r.id) as states"
        " from koken.run r join koken.job j on j.id = r.job_id"
        " join koken.workspace w on w.id = r.workspace_id group by 1, 2 order by 1, 2"
    )
    whole = ["failed", "succeeded", "succeeded"]
    assert [tuple(row.values()) for row in kept] == [
        ("acme", "long", whole[1:]),
        ("acme", "usual", whole[2:]),
        ("default", "long", whole),
        ("default", "usual", whole),
    ]


async def test_what_hangs_on_a_run_goes_with_it(house: House) -> None:
    """Large arguments, attempts and checkpoints."""
    await house.job()
    await house.start(who="x" * 1000)
    (run,) = await house.claim()
    await house.rows("insert into koken.checkpoint values ($1, 'step:a', '1', 1)", run.id)
    await house.finish(run, State.FAILED)
    await ended(house, "report", State.SUCCEEDED)
    await house.pass_time(hours=2)
    await prune.prune(house.db, HOUR)
    for table in ("run_args", "attempt", "checkpoint"):
        assert await house.value(f"select count(*) from koken.{table}") == 0


async def test_ticks_and_logs_go_in_their_time(house: House) -> None:
    """Old ticks by their age, the last one stays; log lines by whole days."""
    await house.job(schedules=(Schedule("0 * * * *"),), overlap=Overlap.ALLOW)
    for _ in range(5):
        await house.pass_time(hours=1)
        await fire.fire(house.db)
    await prune.partition(house.db, KEEP)
    await house.rows(f"{LINE} (1, 1, koken.now(), 'info', 'stdout', 'here')")
    await prune.prune_rest(house.db, KEEP | {"ticks": 2.5 * 3600})
    assert await house.value("select count(*) from koken.tick") == 3
    await house.pass_time(days=29)
    await prune.partition(house.db, KEEP)
    assert await house.value("select count(*) from koken.log_line") == 1
    await house.pass_time(days=3)
    await prune.partition(house.db, KEEP)
    assert await house.value("select count(*) from koken.log_line") == 0
    await prune.prune_rest(house.db, KEEP | {"ticks": 0.0})
    assert await house.value("select count(*) from koken.tick") == 1


async def test_partitions_are_made_under_the_writers_hands(house: House) -> None:
    """Lines that come in meanwhile neither stop the partition of their day nor get lost."""
    written = 0

    async def write_on() -> None:
        nonlocal written
        while not made.done():
            await house.rows(f"{LINE} (1, 1, koken.now(), 'info', 'stdout', 'here')")
            written += 1

    made = asyncio.ensure_future(prune.partition(house.db, KEEP))
    await asyncio.gather(made, *(write_on() for _ in range(8)))
    assert await house.value("select count(*) from koken.log_line") == written
    assert await house.value("select count(*) from koken.log_line_other") == 0
    assert await house.value("select count(*) from koken.log_line_20260310") == written


async def test_readers_miss_no_line_that_moves_to_its_day(house: House) -> None:
    """Who reads at this very moment finds each line, at its old place or its new one."""
    await house.rows(
        f"{LINES} select 1, 1, koken.now(), 'info', 'stdout', 'here' from generate_series(1, 500)"
    )
    counts: list[int] = []

    async def read_on() -> None:
        while not made.done():
            counts.append(await house.value("select count(*) from koken.log_line"))

    made = asyncio.ensure_future(prune.partition(house.db, KEEP))
    await asyncio.gather(made, *(read_on() for _ in range(8)))
    assert set(counts) == {500}
    assert await house.value("select count(*) from koken.log_line_20260310") == 500


async def test_a_schema_with_an_odd_name(empty_database_url: str) -> None:
    """bug-104: in the schema "Job Queue", with an empty search_path, everything works."""
    await migrate(empty_database_url, "Job Queue")
    async with open_house(empty_database_url, schema="Job Queue") as house:
        name = await house.value("select current_database()")
        await house.rows(f"alter database \"{name}\" set search_path = ''")
    async with open_house(empty_database_url, schema="Job Queue") as house:
        assert await house.value("select current_setting('search_path')") == '""'
        await house.job(schedules=(Schedule("* * * * *"),), overlap=Overlap.QUEUE_ALL)
        await house.start(who="x" * 1000)
        await house.start(n=1, delay=30.0)
        await house.pass_time(minutes=1)
        await wake.wake(house.db)
        await fire.fire(house.db)
        for _ in range(3):
            (run,) = await house.claim()
            await house.finish(run)
        await prune.partition(house.db, KEEP)
        await house.pass_time(days=40)
        assert (await prune.prune(house.db, KEEP)).runs == 2
        found = await house.value("select count(*) from pg_namespace where nspname = 'koken'")
        assert found == 0


async def test_user_jobs_do_not_wait_behind_scheduled_ones(house: House) -> None:
    """bug-112: 500 scheduled runs fill their queue; a user's run is claimed at once."""
    monthly = Schedule("0 0 1 * *")
    for n in range(500):
        await house.job(f"monthly{n}", queue="month", schedules=(monthly,))
    await house.job("user")
    await house.set_clock(NOON.replace(month=4, day=1, hour=0))
    await fire.fire(house.db)
    await house.hire(month=10, default=2)
    ids = await queue_ids(house.db, {"month": 1, "default": 1})
    assert (
        len(await from_bottom(house.db, house.worker, {ids["month"]: 10, ids["default"]: 2})) == 10
    )
    for _ in range(5):
        started = await house.start("user")
        (run,) = await from_bottom(house.db, house.worker, {ids["month"]: 0, ids["default"]: 2})
        assert run.id == started.run_id
        await house.pass_time(seconds=1)
    assert house.now - NOON.replace(month=4, day=1, hour=0) == timedelta(seconds=5)
