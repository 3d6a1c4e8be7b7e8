"""A worker as a whole, in this process: what bodies are given, and how it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

import koken
from koken.config import load
from koken.runtime import runner
from koken.runtime.worker import Worker
from tests.support.moments import until


def worker_of(app: koken.App) -> Worker:
    """A worker of ``app`` with a few slots."""
    return Worker(app, load({**app.settings, "worker": {"queues": {"default": 5}}}))


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_bodies_find_what_the_lifespan_gave(database_url: str, kind: str) -> None:
    left: list[str] = []

    @contextmanager
    def around() -> Iterator[str]:
        yield "warm"
        left.append("sync")

    @asynccontextmanager
    async def async_around() -> AsyncIterator[str]:
        yield "warm"
        left.append("async")

    lifespan = around if kind == "sync" else async_around
    app = koken.App("lives", lifespan=lifespan, database_url=database_url)

    @app.job
    def plain(ctx: koken.Context) -> str:
        return str(ctx.state)

    @app.job
    async def awaiting(ctx: koken.AsyncContext) -> str:
        return str(ctx.state)

    worker = worker_of(app)
    async with koken.AsyncClient(app) as client:
        await worker.start()
        runs = [await client.start(plain), await client.start(awaiting)]
        assert [await client.result(run, timeout="20s") for run in runs] == ["warm", "warm"]
        assert left == []
        await worker.stop()
    assert left == [kind]


async def test_a_stopped_worker_has_left_and_stops_again(database_url: str) -> None:
    app = koken.App("lives", database_url=database_url)
    worker = worker_of(app)
    await worker.start()
    await worker.stop()
    await worker.stop()
    assert worker.gone.is_set()
    async with koken.AsyncClient(app) as client:
        rows = await client.link.db.run(
            lambda tx: tx.fetch_text("select stopped_at, cleared_at from koken.worker")
        )
    assert None not in tuple(rows[0])


async def test_a_worker_that_never_started_stops(database_url: str) -> None:
    await worker_of(koken.App(database_url=database_url)).stop()


async def test_a_waiting_run_wakes_at_its_moment(database_url: str) -> None:
    """The worker that parked a run wakes it by itself."""
    app = koken.App("lives", database_url=database_url)
    seen: list[int] = []

    @app.job(max_attempts=3, backoff=koken.Backoff("fixed", base=0.2))
    async def flaky(ctx: koken.AsyncContext) -> int:
        seen.append(ctx.attempt)
        if ctx.attempt < 3:
            raise RuntimeError("not yet")
        return ctx.attempt

    worker = worker_of(app)
    async with koken.AsyncClient(app) as client:
        await worker.start()
        run = await client.start(flaky)
        await until(lambda: len(seen) == 3)
        done = await client.wait(run, timeout="20s")
        await worker.stop()
    assert done.started_at is not None
    assert done.ended_at is not None
    assert (done.state, done.result, seen) == ("succeeded", 3, [1, 2, 3])


async def test_a_queue_that_is_full_for_long_is_told_of_once(
    database_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bug-037: hung bodies that hold all slots do not go unnoticed."""
    app = koken.App("lives", database_url=database_url)
    release = asyncio.Event()

    @app.job
    async def hangs() -> None:
        await release.wait()

    worker = worker_of(app)
    async with koken.AsyncClient(app) as client:
        await worker.start()
        runs = await client.start_many(hangs, [{}] * 6)
        await until(lambda: worker.runner.bodies == 5)
        await worker.look_round()
        assert "slots of queue" not in caplog.text
        monkeypatch.setattr(runner, "FULL_FOR_LONG", 0.0)
        await worker.look_round()
        await worker.look_round()
        assert caplog.text.count("all 5 slots of queue default have been taken for") == 1
        release.set()
        assert {(await client.wait(run, "20s")).state for run in runs} == {"succeeded"}
        await worker.stop()


async def test_a_job_that_one_program_lacks_goes_to_the_other_at_once(database_url: str) -> None:
    """Old and new workers side by side on one queue: nobody waits for the one that cannot."""
    old = koken.App("old", database_url=database_url)
    new = koken.App("new", database_url=database_url)

    @new.job
    async def fresh(n: int) -> int:
        return n

    lacking, able = worker_of(old), worker_of(new)
    async with koken.AsyncClient(new) as client:
        await lacking.start()
        await able.start()
        runs = await client.start_many(fresh, [{"n": n} for n in range(40)])
        done = [await client.wait(run, "20s") for run in runs]
        assert [run.result for run in done] == list(range(40))
        assert {run.attempt for run in done} == {1}
        await able.stop()
        await lacking.stop()


async def test_a_body_that_blocks_the_loop_past_its_timeout_has_timed_out(
    database_url: str,
) -> None:
    app = koken.App("lives", database_url=database_url)

    @app.job(timeout=0.1)
    async def blocks() -> str:
        busy_until = time.monotonic() + 0.3
        while time.monotonic() < busy_until:
            pass
        return "done"

    worker = worker_of(app)
    async with koken.AsyncClient(app) as client:
        await worker.start()
        run = await client.wait(await client.start(blocks), "20s")
        await worker.stop()
    assert (run.state, run.error.type if run.error else "") == ("failed", "Timeout")
    assert "it blocked the event loop" in run.reason


async def test_the_traceback_of_a_failed_body_is_in_its_log(database_url: str) -> None:
    app = koken.App("lives", database_url=database_url)

    @app.job
    async def breaks() -> None:
        raise ZeroDivisionError("by zero, on purpose")

    worker = worker_of(app)
    async with koken.AsyncClient(app) as client:
        await worker.start()
        run = await client.wait(await client.start(breaks), "20s")
        lines = await client.logs(run)
        await worker.stop()
    text = "\n".join(line.text for line in lines)
    assert {line.level for line in lines} == {"error"}
    assert 'raise ZeroDivisionError("by zero, on purpose")' in text
    assert "test_worker.py" in text
