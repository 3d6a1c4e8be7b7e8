"""Workers that are asked to stop: bodies end or go back, nothing is lost, nothing runs twice."""

from __future__ import annotations

import signal

from tests.cluster import app
from tests.cluster.cluster import Cluster, alive
from tests.support.moments import until

ROOM = {"queues": {"default": 20}, "grace": 60}


async def test_running_jobs_end_once_and_nothing_new_starts(cluster: Cluster) -> None:
    """SIGTERM with 20 running and a grace: each ends once with its result; exit 0 (bug-094)."""
    worker = await cluster.worker(worker=ROOM)
    jobs = (app.hold_thread, app.hold_loop, app.hold_process, app.hold_thread)
    runs = [await cluster.client.start(jobs[n % 4], f"gate{n}") for n in range(20)]
    await cluster.said("began", 20)
    worker.send(signal.SIGTERM)
    late = [await cluster.client.start(app.quick) for _ in range(20)]
    await until(lambda: draining(cluster))
    for n in range(20):
        cluster.open(f"gate{n}")
        await cluster.said("ended", n + 1)
    assert await worker.ended() == 0
    await cluster.all_in("succeeded", runs)
    assert await cluster.states(late) == {"ready": 20}
    rows = await cluster.rows("select lease, attempt, infra_attempt from koken.run where lease > 0")
    assert [tuple(row.values()) for row in rows] == [(1, 1, 0)] * 20
    assert cluster.count("ended") == {run.id: 1 for run in runs}


async def draining(cluster: Cluster) -> bool:
    """Whether the worker has heard."""
    return bool(await cluster.value("select count(draining_at) from koken.worker"))


async def test_what_is_not_done_by_the_grace_goes_back(cluster: Cluster) -> None:
    """The grace ends: all kinds of bodies are stopped, ready again, and have spent nothing."""
    worker = await cluster.worker(worker={**ROOM, "grace": 0.5})
    jobs = (app.hold_thread, app.hold_loop, app.hold_process, app.fragile)
    runs = [await cluster.client.start(job) for job in jobs]
    runs.append(await cluster.client.start(app.hold_command, folder=str(cluster.folder)))
    began = await cluster.said("began", 5) + await cluster.said("child", 1)
    worker.send(signal.SIGTERM)
    assert await worker.ended() == 0
    assert not any(alive(fact.pid) for fact in began)
    rows = await cluster.rows("select state, lease, attempt, infra_attempt from koken.run")
    assert [tuple(row.values()) for row in rows] == [("ready", 1, 0, 0)] * 5
    outcomes = await cluster.rows("select outcome from koken.attempt")
    assert [row["outcome"] for row in outcomes] == ["returned"] * 5
    assert not cluster.facts("ended")
    await cluster.worker()
    await cluster.said("began", 10)
    cluster.open()
    await cluster.all_in("succeeded", runs)
    assert cluster.count("ended") == {run.id: 1 for run in runs}


async def test_the_second_signal_is_final(cluster: Cluster) -> None:
    """A second SIGTERM ends the grace at once."""
    worker = await cluster.worker(worker=ROOM)
    run = await cluster.client.start(app.hold_process)
    await cluster.said("began", 1)
    worker.send(signal.SIGTERM)
    await until(lambda: draining(cluster))
    assert worker.code is None
    worker.send(signal.SIGTERM)
    assert await worker.ended(15) == 0
    assert await cluster.states([run]) == {"ready": 1}


async def test_under_load_nothing_is_claimed_into_a_closing_worker(cluster: Cluster) -> None:
    """SIGTERM while claims come in: what slips through goes back unstarted and unspent."""
    runs = await cluster.client.start_many(app.quick, [{"n": n} for n in range(20_000)])
    for _ in range(3):
        worker = await cluster.worker(worker={**ROOM, "grace": 0})
        await cluster.more_ended(50, of=runs)
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
        states = await cluster.states()
        assert states["running"] == 0
        assert states["succeeded"] == len(cluster.facts("ended"))
    assert (
        await cluster.value("select count(*) from koken.attempt where outcome <> 'returned'") == 0
    )
    assert await cluster.value("select max(infra_attempt) from koken.run") == 0
    assert max(cluster.count("ended").values()) == 1
