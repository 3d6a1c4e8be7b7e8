"""What becomes of runs whose body cannot be carried out where it would have to be."""

from __future__ import annotations

import koken
from koken.config import load
from koken.define.job import Job
from koken.executors.base import Absent, Answer, Assignment, Host
from koken.executors.loop import LoopExecutor
from koken.runtime.worker import Worker
from tests.support.moments import until


class Elsewhere(LoopExecutor):
    """A place whose program is another one."""

    async def carry_out(self, job: Job[..., object], assignment: Assignment, host: Host) -> Answer:
        return Absent()


async def test_what_its_place_does_not_know_is_left_to_other_workers(database_url: str) -> None:
    app = koken.App("old", database_url=database_url)

    @app.job
    async def fresh() -> int:
        return 7

    lacking, able = (Worker(app, load(app.settings)) for _ in range(2))
    async with koken.AsyncClient(app) as client:
        await lacking.start()
        lacking.places.open["loop"] = Elsewhere()
        run = await client.start(fresh)
        await until(lambda: lacking.runner.unknown and not lacking.runner.carried)
        found = await client.get(run)
        assert (found.state, found.attempt) == ("ready", 0)
        await able.start()
        assert await client.result(run, "20s") == 7
        await able.stop()
        await lacking.stop()
