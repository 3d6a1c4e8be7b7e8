"""The database's clock steps: nobody is lost, no tick fires twice, chores go on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.cluster import ticks
from tests.cluster.cluster import TIMING, Cluster
from tests.support.moments import until

TWICE = "select logical_at from koken.run group by logical_at having count(*) > 1"
LATE = "select count(*) from koken.chore where next_at > koken.now() + 2 * period"


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_step(cluster: Cluster, hours: int) -> None:
    """An hour forward or back, and right again; a run goes on all the while under its lease."""
    for _ in range(2):
        await cluster.worker(app="tests.cluster.ticks:app")
    held = await cluster.client.start(ticks.hold)
    await cluster.said("tick", 2)
    for offset in (hours, 0):
        await cluster.set_clock(hours=offset)
        await beats_for(cluster, TIMING.confirm + 1)
        assert await cluster.value("select count(lost_at) from koken.worker") == 0
        assert await cluster.value(LATE) == 0
        if offset == max(hours, 0):  # at the earlier time all due times have their ticks
            await cluster.said("tick", len(cluster.facts("tick")) + 2)
    cluster.open()
    await cluster.all_in("succeeded", [held])
    rows = await cluster.rows("select lease, infra_attempt from koken.run where id = $1", held.id)
    assert [tuple(row.values()) for row in rows] == [(1, 0)]
    assert await cluster.rows(TWICE) == []
    assert max(cluster.count("tick").values()) == 1


async def beats_for(cluster: Cluster, seconds: float) -> None:
    """Wait until both workers have beaten for so long, on the clock as it is now."""
    start = await cluster.value("select koken.now()")

    async def beaten() -> bool:
        last = await cluster.value("select min(beat_at) from koken.worker")
        return bool(start + timedelta(seconds=seconds) < last < start + timedelta(seconds=60))

    await until(beaten, seconds + 10)
