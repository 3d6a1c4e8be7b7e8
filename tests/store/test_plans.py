"""The hot statements use their index, on small tables and on large ones.

The bad plans of a queue show on small tables, where a scan of the whole table looks cheap to the
planner, and stay in the plan cache while the table grows.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from koken.store.database import Database, Transaction
from koken.store.statements import Statement, in_schema
from koken.views import catalog, runs
from koken.views.pages import page
from koken.views.query import parse
from koken.views.reading import reading
from tests.support.house import House, open_house

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
SIZES = [1_000, 100_000, 1_000_000]
FILL = """
insert into koken.run (workspace_id, job_id, version_id, queue_id, state, priority, rank,
  max_attempts, max_infra_attempts, lease, attempt, worker_id, args, trigger_kind, logical_at,
  created_at, started_at, finished_at, wake_at)
select 1, case when n > 3 then 1 else {rare} end, 1, 1 + n % 3,
       case when n = {size} - 60 then 'failed' when n % {live} > 9 then 'succeeded'
            when n % 3 = 0 then 'ready' when n % 3 = 1 then 'running' else 'waiting' end,
       0, koken.now() - n * interval '1 ms', 1, 3, 1, 1, 1 + n % 5, '{{}}', 'api', koken.now(),
       koken.now() - ({size} - n) * interval '1 s', koken.now(),
       case when n % {live} > 9 then koken.now() end,
       case when n % {live} <= 9 and n % 3 = 2 then koken.now() + n * interval '1 s' end
  from generate_series(1, {size}) n
"""
ENGINE: dict[str, tuple[tuple[Any, ...], set[str]]] = {
    "claim": (
        (1, [1], [1], [LONG_AGO], [50], []),
        {"run_ready"},
    ),
    "claim_from_bottom": ((1, [1, 2], [50, 50], []), {"run_ready"}),
    "adopt": ((1,), {"run_worker"}),
    "finish": (
        ([5], [1], ["succeeded"], [None], [0.0], ["attempt"], [None], [None], ["succeeded"]),
        {"run_pkey"},
    ),
    "standing": (([5],), {"run_pkey"}),
    "wake": ((None,), {"run_wake"}),
    "expire": ((), {"run_start_deadline", "run_deadline"}),
    "take_over": ((), {"run_worker"}),
    "limited_queues": (([1],), {"run_ready"}),
    "log": (([5], [1], [0.0], ["info"], ["stdout"], ["x"]), {"run_pkey"}),
    "keep_checkpoints": (
        ([5], [1], ["step:a"], ["1"], [False], [1], [None], [5]),
        {"run_pkey", "checkpoint_pkey"},
    ),
    "progress": (([5], [1], [50], ["x"]), {"run_pkey"}),
    "look": ((5,), {"run_pkey"}),
}
LISTS = {
    "": 50,
    "job:report": 50,
    "job:rare": 3,
    "job:rare,report": 50,
    "rar": 3,
    "job:rare state:failed": 0,
    "job:report state:failed since:2h": 1,
    "state:failed since:2h": 1,
    "since:10m until:5m": 50,
    "job:report until:15m": 50,
    "id:2,3": 2,
}
"""Lists, with how many runs their page has."""
MOST_BLOCKS = 1000
"""Of some 35,000 that a million runs take."""


@pytest_asyncio.fixture(params=SIZES)
async def filled(database_url: str, request: pytest.FixtureRequest) -> AsyncIterator[House]:
    """A table of that size, mostly history, as vacuum has seen it."""
    async with open_house(database_url, deadline=120.0) as house:
        await house.job()
        await house.job("rare")
        rare = await house.value("select id from koken.job where name = 'rare'")
        for name in "abcde":
            await house.hire(name)
        size = int(request.param)
        async with house.db.session() as session:
            await session.execute("set statement_timeout = 0")
            await session.execute("set lock_timeout = 0")
            await session.execute(FILL.format(size=size, live=max(size // 300, 20), rare=rare))
            await session.execute("vacuum analyze koken.run")
            await session.execute("reset statement_timeout")
        yield house


def scans(plan: Any) -> Iterator[tuple[str, str]]:
    """Every scan of the table of runs: its kind, and its index."""
    if isinstance(plan, list):
        for each in plan:
            yield from scans(each)
    elif isinstance(plan, dict):
        if plan.get("Relation Name") == "run" and "Scan" in plan["Node Type"]:
            yield plan["Node Type"], plan.get("Index Name", "")
        if plan.get("Index Name", "").startswith("run_") and "Relation Name" not in plan:
            yield plan["Node Type"], plan["Index Name"]
        for value in plan.values():
            if isinstance(value, dict | list):
                yield from scans(value)


async def explained(db: Database, text: str, *args: Any) -> list[tuple[str, str]]:
    """The scans that a statement makes with a plan for any arguments, and for these."""
    found = []
    async with db.session() as session:
        for mode in ("force_generic_plan", "force_custom_plan"):
            await session.execute(f"set plan_cache_mode = {mode}")
            prepared = await session.connection.prepare(f"explain (format json, costs off) {text}")
            found += list(scans(json.loads(await prepared.fetchval(*args))))
        await session.execute("reset plan_cache_mode")
    return found


async def test_hot_statements_and_lists_go_by_index(filled: House) -> None:
    """All on one table, since a million rows take their time."""
    await the_engine_scans_runs_by_index(filled)
    await lists_read_little(filled)


async def the_engine_scans_runs_by_index(filled: House) -> None:
    """No statement of the engine reads the whole table, whatever its size."""
    for name, (args, indexes) in ENGINE.items():
        found = await explained(filled.db, Statement(name).text("koken"), *args)
        assert found, name
        assert "Seq Scan" not in {kind for kind, _ in found}, (name, found)
        used = {index for _, index in found if index}
        assert used & indexes, (name, used)
        assert used <= indexes | {"run_pkey", "run_worker"}, (name, used)


class Counting(Transaction):
    """Counts the blocks that statements touch."""

    blocks = 0

    async def fetch_text(self, text: str, *args: Any) -> list[Any]:
        explain = f"explain (analyze, buffers, format json) {in_schema(text, self.schema)}"
        (found,) = json.loads(await self.connection.fetchval(explain, *args))
        self.blocks += found["Plan"]["Shared Hit Blocks"] + found["Plan"]["Shared Read Blocks"]
        return await super().fetch_text(text, *args)


async def lists_read_little(filled: House) -> None:
    """Whatever a list is narrowed to, and whatever the other jobs have behind them."""
    db = Database(filled.db.url, planner="default")
    try:
        for query, expected in LISTS.items():
            assert await blocks_of(db, query, expected) < MOST_BLOCKS, query
        assert await blocks_of(db, "job:report", 50, end=900) < MOST_BLOCKS
        await filled.rows("insert into koken.workspace (name) values ('acme')")
        for query in ("", "job:report", "state:failed"):
            assert await blocks_of(db, query, 0, workspace="acme") < MOST_BLOCKS, query
        async with reading(db) as session:
            counting = Counting(session.connection, session.schema, session.deadline)
            names = ("workspace", "retired", "name", "number", "limit")
            places = {name: at for at, name in enumerate(names, 1)}
            listing = catalog.JOBS.format(where="true", **places)
            await counting.fetch_text(listing, "default", False, None, 0, None)
        assert counting.blocks < MOST_BLOCKS
    finally:
        await db.close()


async def blocks_of(
    db: Database,
    query: str,
    expected: int,
    *,
    workspace: str = "default",
    end: int | None = None,
) -> int:
    """How many blocks a page of a list touches; it has so many runs."""
    async with reading(db) as session:
        counting = Counting(session.connection, session.schema, session.deadline)
        found = await page(counting, parse(query), workspace=workspace, limit=50, end=end)
        await counting.fetch_text(runs.THESE, found)
    assert len(found) == expected, query
    return counting.blocks
