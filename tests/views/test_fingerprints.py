"""What changes when something has, found by index however much there is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest_asyncio

from koken.engine import control, record, register
from koken.engine.record import Line, Showing
from koken.model.states import State
from koken.views import fingerprints
from koken.views.fingerprints import OF_EVENTS, OF_LOG, OF_RUN, OF_WORKSPACE
from koken.views.reading import reading
from tests.support.house import House

FILL = """
insert into koken.run (workspace_id, job_id, version_id, queue_id, parent_id, root_id, step_no,
  state, priority, rank, max_attempts, max_infra_attempts, trigger_kind, logical_at, created_at,
  made, open_children, finished_at)
select 1, 1, 1, 1, case when n > 90000 then $1::bigint end, case when n > 90000 then $1::bigint end,
       case when n > 90000 then n end,
       case when n > 90000 then 'ready' else 'succeeded' end, 0, koken.now(), 1, 3, 'api',
       koken.now(), koken.now(), null, null, case when n <= 90000 then koken.now() end
  from generate_series(1, 100000) n
"""
ALL_READ = {"queue", "worker", "job", "schedule"}
"""Tables of which every row is looked at."""
MOST_BLOCKS = 1000
"""Of some 3,000 that the table takes."""


async def of(house: House, topic: Any, about: Any) -> str:
    """A fingerprint."""
    async with reading(house.db) as session:
        return str(await topic(session, about))


@pytest_asyncio.fixture
async def report(house: House) -> int:
    """A run that is ready."""
    await house.job()
    await house.hire()
    return (await house.start()).run_id or 0


async def test_a_run_changes_with_all_that_its_page_shows(house: House, report: int) -> None:
    seen = [await of(house, fingerprints.of_run, report)]

    async def moved() -> None:
        seen.append(await of(house, fingerprints.of_run, report))
        assert seen[-1] not in seen[:-1]

    (run,) = await house.claim()
    await moved()
    shown = Showing(report, run.lease, 50, "half")
    await record.record(house.db, [], [], [shown], clock=0)
    await moved()
    await control.cancel(house.db, report, by="anna", reason=None)
    await moved()
    await house.finish(run, State.FAILED)
    await moved()
    await control.acknowledge(house.db, report, by="anna", reason=None)
    await moved()


async def test_neither_others_nor_time_change_it(house: House, report: int) -> None:
    await house.claim()
    looks = [
        (fingerprints.of_run, report),
        (fingerprints.of_log, report),
        (fingerprints.of_workspace, "default"),
        (fingerprints.of_events, "default"),
    ]
    before = [await of(house, *look) for look in looks]
    async with reading(house.db) as session:
        seen = await fingerprints.committed(session)
    await house.pass_time(minutes=5)
    await register.beat(house.db, house.worker, 1, [1])
    other = await house.start(workspace="acme")
    await control.cancel(house.db, other.run_id or 0, by="anna", reason=None)
    assert [await of(house, *look) for look in looks] == before
    async with reading(house.db) as session:
        assert await fingerprints.committed(session) != seen


async def test_a_log_changes_with_lines_and_ends_of_the_tree(house: House, report: int) -> None:
    (run,) = await house.claim()
    seen = {await of(house, fingerprints.of_log, report)}
    line = Line(report, run.lease, 0.0, "info", "stdout", "hello")
    await record.record(house.db, [], [line], [], clock=0)
    seen.add(await of(house, fingerprints.of_log, report))
    child = await house.value(
        "insert into koken.run (workspace_id, job_id, version_id, queue_id, parent_id, root_id,"
        " step_no, state, priority, rank, max_attempts, max_infra_attempts, trigger_kind,"
        " logical_at, created_at, lease, worker_id) select 1, job_id, version_id, queue_id, id, id,"
        " 1, 'running', 0, koken.now(), 1, 3, 'run', koken.now(), koken.now(), 1, worker_id"
        " from koken.run where id = $1 returning id",
        report,
    )
    seen.add(await of(house, fingerprints.of_log, report))
    line = Line(child, 1, 0.0, "info", "stdout", "from below")
    await record.record(house.db, [], [line], [], clock=0)
    seen.add(await of(house, fingerprints.of_log, report))
    assert len(seen) == 4


async def test_a_workspace_changes_with_starts_claims_ends_and_pauses(
    house: House, report: int
) -> None:
    seen = [await of(house, fingerprints.of_workspace, "default")]

    async def moved() -> None:
        seen.append(await of(house, fingerprints.of_workspace, "default"))
        assert seen[-1] not in seen[:-1]

    await house.start()
    await moved()
    run, _ = await house.claim()
    await moved()
    await house.finish(run)
    await moved()
    await house.rows("update koken.queue set paused_at = koken.now() returning id")
    await moved()
    await house.rows("update koken.worker set draining_at = koken.now() returning id")
    await moved()


async def test_an_event_that_is_committed_late_is_seen(house: House) -> None:
    add = "insert into koken.event (workspace_id, verb, by) values (1, 'cancel', 'anna')"
    async with house.db.session() as slow, house.db.session() as quick:
        await slow.execute(f"begin; {add}")
        await quick.execute(add)
        before = await of(house, fingerprints.of_events, "default")
        await slow.execute("commit")
        assert await of(house, fingerprints.of_events, "default") != before


async def test_what_does_not_exist_has_none(house: House, report: int) -> None:
    assert await of(house, fingerprints.of_run, report + 1) == ""
    assert await of(house, fingerprints.of_events, "nowhere") == ""


async def test_looks_go_by_index_among_many_runs_and_in_a_large_tree(
    house: House, report: int
) -> None:
    await house.rows(FILL, report)
    await house.rows("update koken.run set made = 10000 where id = $1", report)
    async with house.db.session() as session:
        await session.execute("vacuum analyze koken.run")
    for text, about in (
        (OF_RUN, report),
        (OF_LOG, report),
        (OF_WORKSPACE, "default"),
        (OF_EVENTS, "default"),
    ):
        async with house.db.session() as session:
            explain = f"explain (analyze, buffers, format json) {text}"
            (found,) = json.loads(await session.connection.fetchval(explain, about))
        plan = found["Plan"]
        scanned = {each["Relation Name"] for each in nodes(plan) if each["Node Type"] == "Seq Scan"}
        assert scanned <= ALL_READ, (text, scanned)
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < MOST_BLOCKS, text


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan's nodes."""
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)
