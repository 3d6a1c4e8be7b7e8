"""Workers that are asked to stop before they have begun (bug-098)."""

from __future__ import annotations

import signal
import time

from tests.cluster.cluster import Cluster, WorkerProcess
from tests.support.moments import until

MOMENTS = 9


async def test_a_stop_at_each_moment_of_the_start(cluster: Cluster) -> None:
    """SIGTERM all along the start: it stops each time, and leaves no worker behind."""
    whole = await cluster.worker()
    length = time.monotonic() - whole.launched_at
    for n in range(MOMENTS):
        await signalled(cluster.launch(), length * (0.4 + 0.8 * n / MOMENTS))
    for worker in cluster.workers[1:]:
        code = await worker.ended(10)
        assert code in (0, -signal.SIGTERM), worker.log.read_text()
    whole.send(signal.SIGTERM)
    assert await whole.ended() == 0
    assert await cluster.value("select count(*) from koken.worker where cleared_at is null") == 0


async def signalled(worker: WorkerProcess, moment: float) -> None:
    """Send SIGTERM so many seconds after the launch."""
    at = worker.launched_at + moment
    await until(lambda: time.monotonic() >= at)
    worker.send(signal.SIGTERM)
