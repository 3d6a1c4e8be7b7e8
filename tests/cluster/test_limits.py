"""Limits: never more at once than allowed, whoever dies, and room comes back each time."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from koken.define.job import Job
from koken.engine import control
from koken.model.run import Run
from koken.store.database import Database
from tests.cluster import app
from tests.cluster.cluster import MARGIN, TIMING, Cluster
from tests.support.moments import until

ROOM = {"queues": {"default": 20, "narrow": 20}, "grace": 5}


async def limit(cluster: Cluster, number: int | None, *, rate: float | None = None) -> None:
    """Set the limit of the narrow queue, while everything goes on."""
    db = Database(cluster.url)
    await control.set_queue(db, "narrow", limit=number, rate=rate, by="test", reason=None)
    await db.close()


def most_at_once(cluster: Cluster) -> int:
    """How many bodies were under way at once, by what they said in order."""
    now = most = 0
    for fact in cluster.facts():
        now += {"began": 1, "ended": -1}[fact.what]
        most = max(most, now)
    return most


async def test_a_queue_limit_over_two_workers(cluster: Cluster) -> None:
    """Limit 3, two workers with 20 slots each: never more than 3 at once, and 3 are used."""
    await limit(cluster, 3)
    for _ in range(2):
        await cluster.worker(worker=ROOM)
    runs = await cluster.client.start_many(app.narrow_quick, [{}] * 100)
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


@pytest.mark.parametrize("job", [app.narrow, app.locked], ids=["queue limit", "lock limit"])
async def test_room_comes_back_each_time(cluster: Cluster, job: Job[..., Any]) -> None:
    """Three of three slots: freed by cancel, by kill -9 and by a worker row that is deleted.

    bug-014, bug-022, bug-031. The database's clock is put forward by the lease, so that a dead
    worker is suspect at once; the others clear themselves with their next beat.
    """
    await limit(cluster, 3)
    await cluster.worker("stays", worker=ROOM)
    first = [await cluster.client.start(job) for _ in range(6)]
    await running(cluster, first, 3)
    for run in first[:3]:
        await cluster.client.cancel(run)
    await cluster.all_in("cancelled", first[:3])
    await cluster.said("began", 6)
    for run in first[3:]:
        await cluster.client.cancel(run)
    await cluster.all_in("cancelled", first)
    assert await cluster.value("select count(*) from koken.hold") == 0

    cluster.workers[0].send(signal.SIGTERM)
    await cluster.workers[0].ended()
    dies = await cluster.worker("dies", worker=ROOM)
    second = [await cluster.client.start(job, "second") for _ in range(6)]
    await cluster.said("began", 9)
    dies.kill()
    await cluster.worker("rescues", worker=ROOM)
    await cluster.set_clock(seconds=TIMING.lease)
    await cluster.said("began", 12, TIMING.confirm + MARGIN + 5)
    cluster.open("second")
    await cluster.all_in("succeeded", second)

    third = [await cluster.client.start(job, "third") for _ in range(4)]
    await cluster.said("began", 18)
    pid = cluster.workers[-1].process.pid
    await cluster.rows("delete from koken.worker where pid = $1", pid)
    await cluster.said("began", 21, 10 + MARGIN)
    cluster.open("third")
    await cluster.all_in("succeeded", third)
    assert await cluster.value("select count(*) from koken.hold") == 0
    assert (await cluster.states())["running"] == 0


async def test_a_rate(cluster: Cluster) -> None:
    """20 starts a second over two workers, 60 runs: none begins before its time."""
    await limit(cluster, None, rate=20)
    for _ in range(2):
        await cluster.worker(worker=ROOM)
    runs = await cluster.client.start_many(app.narrow_quick, [{}] * 60)
    await cluster.all_in("succeeded", runs, 30)
    rows = await cluster.rows("select started_at from koken.run order by started_at")
    started = [row["started_at"] for row in rows]
    for n in range(len(started) - 21):
        assert started[n + 21] - started[n] >= timedelta(seconds=0.95)
    assert started[-1] - started[0] < timedelta(seconds=8)
