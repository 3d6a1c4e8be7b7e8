"""Bodies that hang or hold everything up: they cost neither the lease nor a slot for ever."""

from __future__ import annotations

from koken.model.states import State
from tests.cluster import app
from tests.cluster.cluster import TIMING, Cluster


async def test_a_body_that_blocks_the_loop_keeps_the_lease(cluster: Cluster) -> None:
    """The worker's loop stands still for longer than the lease; nobody takes the run over."""
    for _ in range(2):
        await cluster.worker()
    run = await cluster.client.start(app.blocking, TIMING.lease + 1)
    ended = await cluster.client.wait(run, TIMING.takeover + 15)
    assert ended.state is State.SUCCEEDED
    rows = await cluster.rows("select lease, attempt, infra_attempt from koken.run")
    assert [tuple(row.values()) for row in rows] == [(1, 1, 0)]
    assert await cluster.value("select count(lost_at) from koken.worker") == 0


async def test_hung_jobs_free_their_slots(cluster: Cluster) -> None:
    """Five slots, five bodies that hang in five ways, twenty more waiting (bug-037)."""
    await cluster.worker(worker={"queues": {"five": 5}, "grace": 1})
    jobs = (app.hung_in_python, app.hung_in_a_call, app.hung_on_loop, app.hung_process)
    hung = [await cluster.client.start(job) for job in (*jobs, app.hung_on_loop)]
    await cluster.said("began", 5)
    waiting = await cluster.client.start_many(app.after_hung, [{}] * 20)
    await cluster.all_in("succeeded", waiting)
    await cluster.all_in("failed", hung, 25)
    errors = {run.id: (await cluster.client.get(run)).error for run in hung}
    assert {error.type for error in errors.values() if error} == {"Timeout"}
    said = errors[hung[1].id]
    assert said is not None
    assert "could not be stopped and is still going" in said.message
