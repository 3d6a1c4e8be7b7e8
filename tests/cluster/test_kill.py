"""Workers that die: others take over what they carried, once, and nothing of it is lost."""

from __future__ import annotations

import time
from typing import Any

from koken.model.run import Run
from tests.cluster import app
from tests.cluster.cluster import TAKEOVER, Cluster, alive
from tests.support.moments import until

KINDS = (app.hold_thread, app.hold_loop, app.hold_process, app.hold_command)


async def start_holding(cluster: Cluster) -> list[Run[Any]]:
    """Ten runs that hold: three each of threads, loop and processes, one command."""
    runs: list[Run[Any]] = []
    for job in (app.hold_thread, app.hold_loop, app.hold_process):
        runs += [await cluster.client.start(job) for _ in range(3)]
    runs.append(await cluster.client.start(app.hold_command, folder=str(cluster.folder)))
    return runs


async def test_kill_9_with_ten_running(cluster: Cluster) -> None:
    """kill -9: taken over within the lease, from the infra budget, and finished once.

    bug-017, bug-028, bug-033 (two rescuers).
    """
    first = await cluster.worker()
    runs = await start_holding(cluster)
    runs.append(await cluster.client.start(app.in_steps))
    children = [fact.pid for fact in await cluster.said("began", 11) + cluster.facts("child")]
    first.kill()
    killed_at = time.monotonic()
    await until(lambda: not any(alive(pid) for pid in children))
    for _ in range(2):
        await cluster.worker()
    await cluster.said("began", 22, TAKEOVER)
    assert time.monotonic() - killed_at < TAKEOVER
    cluster.open()
    await cluster.all_in("succeeded", runs)
    assert cluster.count("began") == {run.id: 2 for run in runs}
    assert cluster.count("ended") == {run.id: 1 for run in runs}
    assert len(cluster.facts("step")) == 1
    rows = await cluster.rows("select distinct lease, attempt, infra_attempt from koken.run")
    assert [tuple(row.values()) for row in rows] == [(2, 1, 1)]
    lost = await cluster.rows(
        "select run_id, lease, attempt, outcome from koken.attempt order by run_id"
    )
    assert [tuple(row.values()) for row in lost] == [(run.id, 1, 0, "lost") for run in runs]
    assert (await cluster.client.get(runs[-1])).result == [41, 1]
