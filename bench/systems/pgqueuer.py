"""pgqueuer: asyncpg and uvloop as its own command runs it, durable tables, batches of 100."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, ClassVar

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.systems.base import LINKS, Producer, System
from bench.tally import Tally

BATCH = 100

LOGGED = """
insert into pgqueuer_log (created, job_id, status, priority, entrypoint, aggregated)
select now() - ($1 - n) * interval '0.5 s', -n, s.status::pgqueuer_status, 0, 'empty', true
  from generate_series(1, $1::int) n, (values ('queued'), ('picked'), ('successful')) s (status)
"""


class PgQueuerProducer:
    """Its own queries on one connection."""

    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self.connection = connection
        self.queries = Queries.from_asyncpg_connection(connection)

    async def start(self, sent: int) -> None:
        await self.queries.enqueue("stamped", str(sent).encode())

    async def start_many(self, count: int) -> None:
        await self.queries.enqueue(["empty"] * count, [None] * count, [0] * count)

    async def start_chains(self, kind: str, count: int, sent: int) -> None:
        payload = f"{LINKS} {sent}".encode()
        await self.queries.enqueue(["link"] * count, [payload] * count, [0] * count)

    async def close(self) -> None:
        await self.connection.close()


class Pgqueuer(System):
    """The fastest peer."""

    name = "pgqueuer"
    packages = ("pgqueuer", "asyncpg", "uvloop")
    settings = f"asyncpg, uvloop, batch_size={BATCH}, durable tables, finished jobs in its log"
    backlog = "select exists (select from pgqueuer)"
    finished = "select count(*) from pgqueuer_log where status = 'successful'"
    forget = "truncate pgqueuer, pgqueuer_log, pgqueuer_statistics"
    chains = ("jobs",)
    history = LOGGED
    statements: ClassVar[Mapping[str, str]] = {"claim": "%pgqueuer%skip locked%"}

    async def install(self, url: str) -> None:
        connection = await asyncpg.connect(url)
        await Queries.from_asyncpg_connection(connection).install()
        await connection.close()

    async def producer(self, url: str) -> Producer:
        return PgQueuerProducer(await asyncpg.connect(url))

    async def work(self, url: str, tally: Tally, stop: asyncio.Event) -> None:
        connection = await asyncpg.connect(url)
        queue = PgQueuer.from_asyncpg_connection(connection)

        @queue.entrypoint("empty")
        async def empty(_: Job) -> None:
            tally.add()

        @queue.entrypoint("stamped")
        async def stamped(job: Job) -> None:
            tally.arrive(int(job.payload or b"0"))

        queries = Queries(queue.connection)

        @queue.entrypoint("link")
        async def link(job: Job) -> None:
            left, sent = map(int, (job.payload or b"0 0").split())
            tally.link(left, sent)
            if left > 1:
                await queries.enqueue("link", f"{left - 1} {sent}".encode())

        running = asyncio.ensure_future(queue.run(batch_size=BATCH))
        await stop.wait()
        queue.shutdown.set()
        await running
        await connection.close()

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        uvloop.run(main)


SYSTEM = Pgqueuer()
