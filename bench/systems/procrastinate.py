"""procrastinate: an async worker with 50 jobs at once, LISTEN/NOTIFY, finished jobs kept."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import procrastinate

from bench.systems.base import Producer, System
from bench.tally import Tally

CONCURRENCY = 50


def app_with(tally: Tally, url: str) -> procrastinate.App:
    """The program of the bench."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))

    @app.task(name="empty")
    async def empty() -> None:
        tally.add()

    @app.task(name="stamped")
    async def stamped(sent: int) -> None:
        tally.arrive(sent)

    return app


class ProcrastinateProducer:
    """Its tasks, deferred."""

    def __init__(self, app: procrastinate.App) -> None:
        self.app = app

    async def start(self, sent: int) -> None:
        await self.app.tasks["stamped"].defer_async(sent=sent)

    async def start_many(self, count: int) -> None:
        await self.app.tasks["empty"].batch_defer_async(*({} for _ in range(count)))

    async def close(self) -> None:
        await self.app.close_async()


class Procrastinate(System):
    """A peer that commits each job by itself."""

    name = "procrastinate"
    packages = ("procrastinate", "psycopg")
    settings = f"async worker, concurrency={CONCURRENCY}, LISTEN/NOTIFY, finished jobs kept"
    share = 0.05
    backlog = (
        "select exists (select from procrastinate_jobs where status = 'todo')"
        " or exists (select from procrastinate_jobs where status = 'doing')"
    )
    finished = "select count(*) from procrastinate_jobs where status = 'succeeded'"
    forget = "truncate procrastinate_jobs, procrastinate_events, procrastinate_periodic_defers"

    async def install(self, url: str) -> None:
        app = app_with(Tally(), url)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    async def producer(self, url: str) -> Producer:
        app = app_with(Tally(), url)
        await app.open_async()
        return ProcrastinateProducer(app)

    async def work(self, url: str, tally: Tally, stop: asyncio.Event) -> None:
        app = app_with(tally, url)
        async with app.open_async():
            working = asyncio.ensure_future(
                app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)
            )
            await stop.wait()
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working


SYSTEM = Procrastinate()
