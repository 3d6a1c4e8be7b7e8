"""DBOS: a queue of synchronous workflows, 500 at once, looked at ten times a second."""

from __future__ import annotations

import asyncio

from dbos import DBOS, DBOSClient, DBOSConfig, EnqueueOptions

from bench.systems.base import LINKS, Producer, System, one_by_one
from bench.tally import Tally

CONCURRENCY = 500
POLL = 0.1
QUEUE = "bench"
VERSION = "bench"


def launch(url: str, tally: Tally) -> None:
    """Start DBOS in this process, with the workflow and the queue of the bench."""
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": url,
        "application_version": VERSION,
        "log_level": "ERROR",
    }
    DBOS(config=config)

    @DBOS.workflow(name="job")
    def job(sent: int) -> None:
        if sent:
            tally.arrive(sent)
        else:
            tally.add_in_thread()

    @DBOS.step(name="link")
    def link(left: int, sent: int) -> None:
        tally.link(left, sent)

    @DBOS.workflow(name="chain")
    def chain(sent: int) -> None:
        for left in range(LINKS, 0, -1):
            link(left, sent)

    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=CONCURRENCY, polling_interval_sec=POLL)


class DbosProducer:
    """Its client, which has no bulk start."""

    def __init__(self, url: str) -> None:
        self.client = DBOSClient(system_database_url=url)
        self.options: EnqueueOptions = {"workflow_name": "job", "queue_name": QUEUE}

    async def start(self, sent: int) -> None:
        await self.client.enqueue_async(self.options, sent)

    async def start_many(self, count: int) -> None:
        await one_by_one(self, count)

    async def start_chains(self, kind: str, count: int, sent: int) -> None:
        options: EnqueueOptions = {"workflow_name": "chain", "queue_name": QUEUE}
        for _ in range(count):
            await self.client.enqueue_async(options, sent)

    async def close(self) -> None:
        await asyncio.to_thread(self.client.destroy)


class Dbos(System):
    """A peer for durable workflows; a job is a workflow without steps."""

    name = "dbos"
    packages = ("dbos", "sqlalchemy", "psycopg")
    settings = f"sync workflows, worker_concurrency={CONCURRENCY}, polling_interval_sec={POLL}"
    share = 0.05
    backlog = (
        "select exists (select from dbos.workflow_status where status in ('ENQUEUED', 'PENDING'))"
    )
    finished = "select count(*) from dbos.workflow_status where status = 'SUCCESS'"
    forget = "truncate dbos.workflow_status cascade"
    chains = ("body",)

    async def install(self, url: str) -> None:
        await asyncio.to_thread(launch, url, Tally())
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)

    async def producer(self, url: str) -> Producer:
        return DbosProducer(url)

    async def work(self, url: str, tally: Tally, stop: asyncio.Event) -> None:
        await asyncio.to_thread(launch, url, tally)
        await stop.wait()
        await asyncio.to_thread(DBOS.destroy)


SYSTEM = Dbos()
