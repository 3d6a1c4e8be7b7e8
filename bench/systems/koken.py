"""Koken itself: ``AsyncClient`` starts, ``Worker`` works as ``koken worker`` does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from bench.systems.base import LINKS, Producer, System
from bench.tally import Tally
from koken import App, AsyncClient, AsyncContext
from koken.config import Config
from koken.engine.publish import publish
from koken.runtime.worker import Worker
from koken.store.database import Database
from koken.store.migrate import migrate

SLOTS = 500
EMPTY_ARGS: dict[str, object] = {}

FINISHED_RUNS = """
insert into koken.run (
  workspace_id, job_id, version_id, queue_id, state, priority, rank, lease, attempt, max_attempts,
  max_infra_attempts, worker_id, args, result, trigger_kind, logical_at, created_at, started_at,
  finished_at)
select 1, j.id, v.id, v.queue_id, 'succeeded', 0, at, 1, 1, v.max_attempts, v.max_infra_attempts, 1,
       '{}', 'null', 'api', at, at, at, at
  from generate_series(1, $1::int) n
  cross join koken.job j join koken.job_version v on v.id = j.version_id
  cross join lateral (select now() - ($1 - n) * interval '0.5 s' as at) t
 where j.name = 'empty'
"""


def app_with(tally: Tally, url: str) -> App:
    """The program of the bench; its bodies count into ``tally``."""
    app = App("bench", database_url=url, worker={"queues": {"default": SLOTS}})

    @app.job(name="empty")
    async def empty() -> None:
        tally.add()

    @app.job(name="stamped")
    async def stamped(sent: int) -> None:
        tally.arrive(sent)

    @app.job(name="ticked", overlap="allow")
    async def ticked() -> None:
        tally.add()

    @app.job(name="ticked_alone", overlap="skip_if_running", overlap_key="{customer}")
    async def ticked_alone(customer: int) -> None:
        tally.add()

    declare_chains(app, tally)
    return app


def declare_chains(app: App, tally: Tally) -> None:
    """Ten steps one after another, as a graph and within a body."""

    @app.workflow(name="graph")
    def graph(sent: int) -> None:
        """Each step receives what the one before it gave."""

    async def first(sent: int) -> int:
        tally.link(LINKS, sent)
        return LINKS - 1

    async def link(left: int, sent: int) -> int:
        tally.link(left, sent)
        return left - 1

    before = graph.step(first, name="link-1")
    for number in range(2, LINKS + 1):
        before = graph.step(link, name=f"link-{number}", inputs={"left": before})

    @app.job(name="body")
    async def body(ctx: AsyncContext, sent: int) -> None:
        left = await ctx.step("link 1", first, sent)
        while left:
            left = await ctx.step(f"link {LINKS + 1 - left}", link, left, sent)


class KokenProducer:
    """A client of Koken."""

    def __init__(self, app: App) -> None:
        self.registry = app.registry
        self.empty = app.registry.get("empty")
        self.stamped = app.registry.get("stamped")
        self.client = AsyncClient(app)

    async def start(self, sent: int) -> None:
        await self.client.start(self.stamped, sent)

    async def start_many(self, count: int) -> None:
        await self.client.start_many(self.empty, [EMPTY_ARGS] * count)

    async def start_chains(self, kind: str, count: int, sent: int) -> None:
        await self.client.start_many(self.registry.get(kind), [{"sent": sent}] * count)

    async def close(self) -> None:
        await self.client.close()


class Koken(System):
    """The system under test."""

    name = "koken"
    packages = ("koken", "asyncpg")
    settings = f"one queue, {SLOTS} slots, plain asyncio, history kept"
    backlog = (
        "select exists (select from koken.run where state = 'ready')"
        " or exists (select from koken.run where state = 'running')"
    )
    finished = "select count(*) from koken.run where state = 'succeeded'"
    forget = (
        "truncate koken.run, koken.run_args, koken.attempt, koken.tick, koken.event,"
        " koken.checkpoint"
    )
    chains = ("graph", "body")
    history = FINISHED_RUNS
    statements: ClassVar[Mapping[str, str]] = {
        "claim": "%skip locked%lease = r.lease +%",
        "bottom": "%with recursive lane%lease = r.lease +%",
        "finish": "%r.lease = d.lease%",
    }

    def app(self, tally: Tally, url: str) -> App:
        """The program that is worked for."""
        return app_with(tally, url)

    async def install(self, url: str) -> None:
        await migrate(url)
        app = self.app(Tally(), url)
        db = Database(url)
        try:
            specs = [job.spec for job in app.registry]
            await publish(db, app.name, specs, by="bench", whole=True)
        finally:
            await db.close()

    async def producer(self, url: str) -> Producer:
        return KokenProducer(self.app(Tally(), url))

    async def work(self, url: str, tally: Tally, stop: asyncio.Event) -> None:
        app = self.app(tally, url)
        worker = Worker(app, Config().with_settings(app.settings, "bench"))
        await worker.start()
        await stop.wait()
        await worker.stop(grace=5)


SYSTEM = Koken()
