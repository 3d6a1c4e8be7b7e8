"""What attempts took is written beside their ends, and is of whoever held the lease."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import pytest

import koken
from koken.config import load
from koken.engine import record
from koken.engine.record import Usage
from koken.errors import DatabaseUnreachable
from koken.executors import Command
from koken.model.states import State
from koken.runtime import recorder
from koken.runtime.host import RunHost
from koken.runtime.recorder import Recorder
from koken.runtime.worker import Worker
from koken.store.database import Database
from koken.views import runs
from tests.support.house import open_house
from tests.support.moments import until

USAGE = "select run_id, lease, peak_bytes, cpu_seconds from koken.usage order by lease"
SWELL = "block = bytearray(60 << 20); block[::4096] = b'x' * len(block[::4096])"


async def test_a_command_is_measured_and_its_attempt_shows_it(database_url: str) -> None:
    app = koken.App("heavy", database_url=database_url)
    swell = app.job(Command([sys.executable, "-c", SWELL]), name="swell")

    @app.job
    def light() -> None: ...

    async with koken.AsyncClient(app) as client:
        worker = Worker(app, load({**app.settings, "worker": {"queues": {"default": 2}}}))
        await worker.start()
        try:
            small, large = await client.start(light), await client.start(swell)
            await client.result(large, timeout="20s")
            await client.result(small, timeout="20s")

            async def measured() -> runs.AttemptRow | None:
                (attempt,) = await runs.attempts(client.link.views, large.id)
                return attempt if attempt.peak_bytes else None

            attempt = await until(measured)
            assert attempt.to_json()["peak_bytes"] > 60 << 20
            assert attempt.to_json()["cpu_seconds"] > 0
            (attempt,) = await runs.attempts(client.link.views, small.id)
            assert (attempt.peak_bytes, attempt.cpu_seconds) == (None, None)
        finally:
            await worker.stop()


async def test_it_is_kept_after_the_end_and_under_a_lease_that_was(database_url: str) -> None:
    async with open_house(database_url) as house:
        await house.job(max_attempts=2)
        started = await house.start()
        (run,) = await house.claim()
        await house.finish(run, State.READY, outcome="retry")
        (again,) = await house.claim()
        writer = Recorder(house.db)
        loop = asyncio.get_running_loop()
        first = RunHost(again, writer, loop)
        first.used(100, 1.5)
        RunHost(again, writer, loop, before=first).used(50, 1.0)
        writer.use(Usage(run.id, run.lease, 70, 0.5))
        writer.use(Usage(run.id, again.lease + 1, 1, 1.0))
        await writer.turn()
        await record.use(house.db, [Usage(run.id, again.lease, 60, 2.0)])
        assert [tuple(row.values()) for row in await house.rows(USAGE)] == [
            (started.run_id, 1, 70, 0.5),
            (started.run_id, 2, 100, 2.5),
        ]


async def test_who_takes_nothing_costs_nothing_and_what_fails_waits(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[Usage]] = []

    async def away(db: Database, usages: Sequence[Usage]) -> None:
        asked.append(list(usages))
        if len(asked) == 1:
            raise DatabaseUnreachable("PostgreSQL does not answer")

    monkeypatch.setattr(recorder, "use", away)
    writer = Recorder(Database(database_url))
    await writer.turn()
    assert asked == []
    usage = Usage(412, 1, 100, 0.5)
    writer.use(usage)
    with pytest.raises(DatabaseUnreachable):
        await writer.turn()
    await writer.turn()
    await writer.turn()
    assert asked == [[usage], [usage]]
