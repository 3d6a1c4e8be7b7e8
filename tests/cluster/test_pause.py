"""Workers that stand still and come back: what they say late changes nothing."""

from __future__ import annotations

import signal

from tests.cluster import app
from tests.cluster.cluster import MARGIN, TAKEOVER, TIMING, Cluster, alive
from tests.support.moments import until


async def test_stopped_past_the_lease_and_continued(cluster: Cluster) -> None:
    """SIGSTOP, SIGCONT: the second runner's result stands, the first one's bodies are stopped.

    bug-034. The lease passes by the database's clock, which is put forward.
    """
    first = await cluster.worker("first")
    jobs = (app.hold_thread, app.hold_loop, app.hold_process)
    runs = [await cluster.client.start(job) for job in jobs]
    early = await cluster.client.start(app.hold_process, "early")
    began = await cluster.said("began", 4)
    first.send(signal.SIGSTOP)
    await cluster.worker("second")
    await cluster.set_clock(seconds=TIMING.lease)
    await cluster.said("began", 8, TIMING.confirm + 2 * MARGIN)
    cluster.open("early.1")  # ends in its own process, whose worker cannot hear it yet
    await until(lambda: cluster.count("ended") == {early.id: 1})
    first.send(signal.SIGCONT)
    await until(lambda: first.says("counts as lost") and first.says("works on as worker 3"))
    await until(lambda: len([fact for fact in cluster.facts("left") if fact.lease == 1]) == 3)
    await until(lambda: not any(alive(fact.pid) for fact in began if fact.pid != first.process.pid))
    assert await cluster.states() == {"running": 4}
    cluster.open()
    cluster.open("early")
    await cluster.all_in("succeeded", [*runs, early])
    rows = await cluster.rows("select result, lease, attempt, infra_attempt from koken.run")
    assert [tuple(row.values()) for row in rows] == [('"lease 2"', 2, 1, 1)] * 4
    assert cluster.count("ended") == {**{run.id: 1 for run in runs}, early.id: 2}


async def test_a_body_that_may_not_run_twice_leaves_with_its_worker(cluster: Cluster) -> None:
    """SIGCONT after kill_after: the process goes, and what it cannot stop goes with it."""
    first = await cluster.worker("first")
    run = await cluster.client.start(app.fragile)
    await cluster.said("began", 1)
    first.send(signal.SIGSTOP)
    await cluster.worker("second")
    await cluster.said("began", 2, TAKEOVER)
    first.send(signal.SIGCONT)
    assert await first.ended() == 75
    cluster.open()
    await cluster.all_in("succeeded", [run])
    assert [(fact.lease, fact.what) for fact in cluster.facts("ended")] == [(2, "ended")]
