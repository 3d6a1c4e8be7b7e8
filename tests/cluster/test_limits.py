"""Limits: never more at once than allowed, whoever dies, and room comes back each time."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from koken.define.job import Job
from koken.engine import queues
from koken.model.run import Run
from koken.store.database import Database
from tests.cluster import app
from tests.cluster.cluster import MARGIN, TIMING, Cluster
from tests.support.moments import until

ROOM = {"queues": {"default": 20, "narrow": 20}, "grace": 5}


async def limit(cluster: Cluster, number: int | None, *, rate: float | None = None) -> None:
    """Set the limit of the narrow queue, while everything goes on."""
    db = Database(cluster.url)
    await queues.set_limits(db, "narrow", limit=number, rate=rate, by="test", reason=None)
    await db.close()


def most_at_once(cluster: Cluster) -> int:
    """How many bodies were under way at once, by what they said in order."""
    now = most = 0
    for fact in cluster.facts():
        now += {"began": 1, "ended": -1}[fact.what]
        most = max(most, now)
    return most


LIMITED = [app.narrow_quick, app.locked_quick]


@pytest.mark.parametrize("job", LIMITED, ids=["of a queue", "of a lock"])
async def test_a_limit_over_two_workers(cluster: Cluster, job: Job[..., Any]) -> None:
    """Limit 3, two workers with 20 slots each: never more than 3 at once, and 3 are used."""
    await limit(cluster, 3)
    for _ in range(2):
        await cluster.worker(worker=ROOM)
    runs = await cluster.client.start_many(job, [{}] * 100)
    await cluster.all_in("succeeded", runs, 30)
    assert most_at_once(cluster) == 3


async def test_raised_and_lowered_while_full(cluster: Cluster) -> None:
    """Limit 2 with 10 waiting, raised to 6, lowered to 1: bug-023."""
    await limit(cluster, 2)
    for _ in range(2):
        await cluster.worker(worker=ROOM)
    runs = [await cluster.client.start(app.narrow, f"gate{n}") for n in range(12)]
    await running(cluster, runs, 2)
    await limit(cluster, 6)
    await running(cluster, runs, 6)
    await limit(cluster, 1)
    for n in range(5):
        cluster.open(f"gate{n}")
        await cluster.all_in("succeeded", runs[: n + 1])
        assert (await cluster.states(runs))["running"] == 5 - n
    for n in range(5, 12):
        cluster.open(f"gate{n}")
        await cluster.said("ended", n + 1)
        assert most_at_once(cluster) <= 6
    await cluster.all_in("succeeded", runs)
    began = [fact.run_id for fact in cluster.facts("began")]
    assert [set(began[:2]), set(began[2:6])] == [ids(runs[:2]), ids(runs[2:6])]
    assert began[6:] == [run.id for run in runs[6:]]


def ids(runs: Sequence[Run[Any]]) -> set[int]:
    """Their numbers."""
    return {run.id for run in runs}


async def running(cluster: Cluster, runs: Sequence[Run[Any]], count: int) -> None:
    """Wait until so many run, and see that it does not become more."""

    async def so_many() -> bool:
        return (await cluster.states(runs))["running"] == count

    await until(so_many)
    assert len(await cluster.said("began", count)) == count


async def test_room_comes_back_each_time(cluster: Cluster) -> None:
    """Three of three slots: freed by cancel, by kill -9 and by a worker row that is deleted.

    bug-014, bug-022, bug-031; for the limit of a queue and for a lock's. The database's clock is
    put forward by the lease, so that a dead worker is suspect at once; the others clear themselves
    with their next beat.
    """
    await limit(cluster, 3)
    stays = await cluster.worker("stays", worker=ROOM)
    runs = await six_of_each(cluster, "first")
    for done, in_turn in enumerate((runs[:3] + runs[6:9], runs[3:6] + runs[9:]), 1):
        await cluster.said("began", 6 * done)
        for run in in_turn:
            await cluster.client.cancel(run)
        await cluster.all_in("cancelled", in_turn)
    await nothing_is_held(cluster)
    stays.send(signal.SIGTERM)
    await stays.ended()

    dies = await cluster.worker("dies", worker=ROOM)
    runs = await six_of_each(cluster, "second")
    await cluster.said("began", 18)
    dies.kill()
    deleted = await cluster.worker("deleted", worker=ROOM)
    await cluster.set_clock(seconds=TIMING.lease)
    await cluster.said("began", 24, TIMING.confirm + 2 * MARGIN)
    cluster.open("second")
    await cluster.all_in("succeeded", runs)
    await nothing_is_held(cluster)

    runs = await six_of_each(cluster, "third")
    await cluster.said("began", 36)
    await cluster.rows("delete from koken.worker where pid = $1", deleted.process.pid)
    await cluster.said("began", 42, 10 + 2 * MARGIN)
    cluster.open("third")
    await cluster.all_in("succeeded", runs)
    await nothing_is_held(cluster)


async def six_of_each(cluster: Cluster, gate: str) -> list[Run[Any]]:
    """Six runs in a queue with room for three, and six under a lock with room for three."""
    jobs = [app.narrow] * 6 + [app.locked] * 6
    return [await cluster.client.start(job, gate) for job in jobs]


async def nothing_is_held(cluster: Cluster) -> None:
    """No slot is in use, and no lock."""
    assert (await cluster.states())["running"] == 0
    assert await cluster.value("select count(*) from koken.hold") == 0


async def test_a_rate(cluster: Cluster) -> None:
    """20 starts a second over two workers, 60 runs that hold: none begins before its time."""
    await limit(cluster, None, rate=20)
    for _ in range(2):
        await cluster.worker(worker={"queues": {"narrow": 40}, "grace": 5})
    await cluster.client.start_many(app.narrow, [{}] * 60)
    await cluster.said("began", 60)
    rows = await cluster.rows("select started_at from koken.run order by started_at")
    started = [row["started_at"] for row in rows]
    for n in range(len(started) - 21):
        assert started[n + 21] - started[n] >= timedelta(seconds=0.95)
    assert started[-1] - started[0] < timedelta(seconds=8)
