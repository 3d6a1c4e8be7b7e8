"""Plans stay on the key when statistics know nothing of the burst: see decision 0013.

Work is counted, not timed: how many rows the statement's scans of ``run`` have read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from koken.store.statements import Statement
from tests.support.house import House, open_house

HISTORY = """
insert into koken.run (workspace_id, job_id, version_id, queue_id, state, priority, rank,
  max_attempts, max_infra_attempts, args, trigger_kind, logical_at, created_at, finished_at)
select 1, 1, 1, 1, '{state}', 0, koken.now(), 1, 3, '{{}}', 'api', koken.now(), koken.now(),
       case when '{state}' = 'succeeded' then koken.now() end
  from generate_series(1, 20000) n
"""
BATCH = 400


def rows_read(plan: Any) -> Iterator[tuple[str, int]]:
    """Each scan of runs, with the rows that it gave or threw away, all loops together."""
    if isinstance(plan, list):
        for each in plan:
            yield from rows_read(each)
    elif isinstance(plan, dict):
        if plan.get("Relation Name") == "run" and "Scan" in plan.get("Node Type", ""):
            each = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
            yield plan.get("Index Name", plan["Node Type"]), int(each * plan["Actual Loops"])
        for value in plan.values():
            if isinstance(value, dict | list):
                yield from rows_read(value)


async def work(house: House, mode: str, name: str, *args: Any) -> dict[str, int]:
    """What a statement has read, carried out with a plan of that kind."""
    async with house.db.session() as session:
        await session.execute(f"set plan_cache_mode = force_{mode}_plan")
        text = f"explain (analyze, format json, timing off) {Statement(name).text('koken')}"
        prepared = await session.connection.prepare(text)
        return dict(rows_read(json.loads(await prepared.fetchval(*args))))


@pytest.mark.parametrize("mode", ["generic", "custom"])
@pytest.mark.parametrize("statistics", ["empty", "ready", "succeeded"])
async def test_claims_and_finishes_read_their_batch_and_no_more(
    database_url: str, statistics: str, mode: str
) -> None:
    async with open_house(database_url) as house:
        await house.job()
        worker = await house.hire()
        if statistics != "empty":
            async with house.db.session() as session:
                await session.execute(HISTORY.format(state=statistics))
        async with house.db.session() as session:
            await session.execute("analyze koken.run")
        if statistics == "empty":
            async with house.db.session() as session:
                await session.execute(HISTORY.format(state="succeeded"))
        ids = await house.start_many(3 * BATCH)
        lane = await house.rows(
            "select queue_id, workspace_id from koken.run where id = $1", ids[0]
        )
        queue = int(lane[0]["queue_id"])
        mark = await house.value("select min(rank) from koken.run where state = 'ready'")
        claims = [
            await work(house, mode, "claim_from_bottom", worker, [queue], [BATCH], []),
            await work(house, mode, "claim", worker, [queue], [1], [mark], [BATCH], []),
        ]
        running = await house.rows("select id, lease from koken.run where state = 'running'")
        batch = running[:BATCH]
        same = [None] * len(batch)
        finish = await work(
            house,
            mode,
            "finish",
            [row["id"] for row in batch],
            [row["lease"] for row in batch],
            ["succeeded"] * len(batch),
            same,
            [0.0] * len(batch),
            ["attempt"] * len(batch),
            same,
            same,
            ["succeeded"] * len(batch),
        )
        for found in (*claims, finish):
            assert found.get("run_pkey", 0) <= 2 * BATCH, (statistics, found)
            assert max(found.values()) <= 3 * BATCH, (statistics, found)
