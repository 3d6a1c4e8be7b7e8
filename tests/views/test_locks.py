"""Locks are found from those who have or want one, and not among all that there ever were."""

from __future__ import annotations

from koken.store.database import Database
from koken.views import locks
from tests.support.house import House
from tests.views.test_overview import cost

MANY = """
insert into koken.lock (workspace_id, kind, key, max_holders)
select 1, 'lock', 'lock ' || n, 1 from generate_series(1, 30000) n
"""
HOLD = """
insert into koken.hold (lock_id, run_id, mode, when_held, rank, not_before, granted_at)
select l.id, $1 + $2::int, 'exclusive', 'run', koken.now(), koken.now(),
       case when $3::float8 is not null then koken.now() - make_interval(hours => $3::int) end
  from koken.lock l where l.key = $4
"""


async def test_one_in_the_way_is_found_behind_many_that_are_not(
    house: House, views: Database
) -> None:
    """Thirty have been held for longer, and nobody waits for them; of 30,000 nobody has one."""
    await house.job()
    run = (await house.start()).run_id
    await house.rows(MANY)
    for number in range(30):
        await house.rows(HOLD, run, number, 9.0, f"lock {number + 1}")
    await house.rows(HOLD, run, 100, 2.0, "lock 500")
    await house.rows(HOLD, run, 101, None, "lock 500")
    await house.rows(HOLD, run, 102, 0.0, "lock 600")
    await house.rows(HOLD, run, 103, None, "lock 600")
    await house.rows(HOLD, run, 104, None, "lock 29999")
    await house.rows("analyze koken.lock")
    await house.rows("analyze koken.hold")
    found = await locks.locks(views, workspace="default", limit=20, in_the_way=3600.0)
    assert [(each.key, each.held, each.waiting) for each in found] == [("lock 500", 1, 1)]
    every, blocks = await cost(
        views,
        lambda tx: tx.fetch_text(locks.LOCKS, "default", None, None, None, 0, 500, None),
    )
    assert len(every) == 33
    assert [(row["key"], row["held"], row["waiting"]) for row in every[-3:]] == [
        ("lock 500", 1, 1),
        ("lock 600", 1, 1),
        ("lock 29999", 0, 1),
    ]
    assert blocks < 200
