"""The first page and the list of runs read little, however many runs there are."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from koken.model.states import State
from koken.store.database import Database, Transaction
from koken.store.statements import in_schema
from koken.views import facets, hands, stuckqueues, suggestions
from koken.views.flow import EXACT, flow_in
from koken.views.reading import reading
from tests.support.house import NOON, House, open_house

MANY = 150_000
FILL = f"""
insert into koken.run (workspace_id, job_id, version_id, queue_id, state, priority, rank, lease,
  attempt, max_attempts, max_infra_attempts, args, trigger_kind, trigger_by, logical_at,
  created_at, started_at, finished_at, error)
select 1, 1, 1, 1, case when n % 100 = 0 then 'failed' else 'succeeded' end, 0, t.at, 1, 1, 1, 3,
       '{{}}', 'api', 'shop', t.at, t.at, t.at, t.at + interval '1 s',
       case when n % 100 = 0 then '{{"type": "ValueError", "message": "no"}}'::jsonb end
  from generate_series(1, {MANY}) n,
       lateral (select koken.now() - ({MANY} - n) * interval '600 ms' as at) t
"""


class Counting(Transaction):
    """Counts the blocks that statements touch."""

    blocks = 0

    async def fetch_text(self, text: str, *args: Any) -> list[Any]:
        explain = f"explain (analyze, buffers, format json) {in_schema(text, self.schema)}"
        (found,) = json.loads(await self.connection.fetchval(explain, *args))
        self.blocks += found["Plan"]["Shared Hit Blocks"] + found["Plan"]["Shared Read Blocks"]
        return await super().fetch_text(text, *args)


@pytest.fixture
async def house(database_url: str) -> AsyncIterator[House]:
    """Noon; a day has had more runs than are counted one by one."""
    async with open_house(database_url, deadline=60.0) as opened:
        await opened.job()
        async with opened.db.session() as session:
            await session.execute("set statement_timeout = 0")
            await session.execute(FILL)
            await session.execute("vacuum analyze koken.run")
            await session.execute("reset statement_timeout")
        yield opened


async def test_a_glance_costs_the_same_however_many_runs_there_are(house: House) -> None:
    """A table of so many runs has more than 4,000 blocks."""
    db = Database(house.db.url, planner="default")
    midnight = NOON - timedelta(hours=12)
    try:
        flow, blocks = await cost(
            db, lambda tx: flow_in(tx, workspace="default", midnight=midnight)
        )
        assert flow.sampled
        assert blocks < 2000
        day = 23.75 * 3600 / 0.6
        assert flow.succeeded + flow.failed == pytest.approx(day, rel=0.02)
        assert flow.failure_rate == pytest.approx(0.01, rel=0.3)
        assert flow.today == pytest.approx(12 * 3600 / 0.6, rel=0.03)
        assert len(flow.quarters) == 96
        failed, blocks = await cost(db, lambda tx: hands.failed(tx, "default"))
        assert failed.total == 1
        assert [(each.run_id, each.count) for each in failed.first] == [(MANY, 1001)]
        assert blocks < 1200
        for look in (
            hands.undoing,
            hands.late_schedules,
            hands.slow_runs,
            hands.lost_runs,
            stuckqueues.stuck_queues,
        ):
            found, blocks = await cost(db, lambda tx, look=look: look(tx, "default"))
            assert (look.__name__, found, blocks < 50) == (look.__name__, [], True)
        await lists_are_bounded(db)
    finally:
        await db.close()


async def lists_are_bounded(db: Database) -> None:
    """States are counted of the newest; a rare run is looked for as far as it comes quickly."""
    found, blocks = await cost(db, lambda tx: facets.facets_in(tx, "", workspace="default"))
    assert (found.whole, found.states) == (False, {"succeeded": 9900, "failed": 100})
    assert blocks < 1500
    rare, blocks = await cost(
        db, lambda tx: facets.page_in(tx, "state:skipped", workspace="default", limit=50)
    )
    assert (rare.runs, rare.older, rare.looked_from) == ([], None, MANY + 2 - facets.REACH)
    assert blocks < 6000
    rest, _ = await cost(
        db,
        lambda tx: facets.page_in(
            tx, "state:skipped", workspace="default", limit=50, before=rare.looked_from
        ),
    )
    assert (rest.runs, rest.looked_from) == ([], None)
    asked = await suggestions.suggestions(db, "error:", 6, workspace="default", mask=())
    assert [(each.text, each.what) for each in asked.items] == [
        ("error:ValueError", "20 of the newest")
    ]


async def cost(db: Database, look: Callable[[Transaction], Awaitable[Any]]) -> tuple[Any, int]:
    """What a look gives, and how many blocks it touches."""
    async with reading(db) as session:
        counting = Counting(session.connection, session.schema, session.deadline)
        return await look(counting), counting.blocks


async def test_few_runs_are_counted_one_by_one(database_url: str) -> None:
    """Of the day before yesterday nothing is told; of today what was started."""
    async with open_house(database_url) as house:
        await house.job()
        assert EXACT > 5
        for hours in (-40, -2, 0):
            await house.set_clock(NOON + timedelta(hours=hours))
            await house.start()
            (claimed,) = await house.claim()
            await house.finish(claimed, State.FAILED if hours else State.SUCCEEDED)
        async with reading(house.db) as session:
            flow = await flow_in(session, workspace="default", midnight=NOON - timedelta(hours=12))
        told = {each.at: (each.succeeded, each.failed) for each in flow.quarters}
        assert {at: counts for at, counts in told.items() if counts != (0, 0)} == {
            NOON: (1, 0),
            NOON - timedelta(hours=2): (0, 1),
        }
        assert (flow.today, flow.sampled, flow.failure_rate) == (2, False, 0.5)
