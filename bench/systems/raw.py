"""The floor: the least statements that durably claim and complete jobs, in batches of 100.

No leases, no retries, no rescue, no history beyond a state: what PostgreSQL and the driver cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

import asyncpg

from bench.systems.base import LINKS, Producer, System
from bench.tally import Tally

BATCH = 100
POLL = 4.0

TABLE = """
create table job (
  id bigserial primary key, state smallint not null default 0, sent bigint not null,
  links smallint not null default 0);
create index job_ready on job (id) where state = 0;
"""
CLAIM = """
update job set state = 1
 where id = any(array(
   select id from job where state = 0 order by id limit $1 for update skip locked))
returning id, sent, links
"""
COMPLETE = "update job set state = 2 where id = any($1::bigint[])"
PASS_ON = """
with done as (update job set state = 2 where id = any($1::bigint[]) returning sent, links)
insert into job (sent, links) select sent, links - 1 from done where links > 1
"""
START = "with new as (insert into job (sent) values ($1)) select pg_notify('job', '')"


class RawProducer:
    """Inserts with a notification; bulk by COPY."""

    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self.connection = connection

    async def start(self, sent: int) -> None:
        await self.connection.execute(START, sent)

    async def start_many(self, count: int) -> None:
        rows = [(0,)] * count
        async with self.connection.transaction():
            await self.connection.copy_records_to_table("job", records=rows, columns=["sent"])
            await self.connection.execute("notify job")

    async def start_chains(self, kind: str, count: int, sent: int) -> None:
        rows = [(sent, LINKS)] * count
        async with self.connection.transaction():
            columns = ["sent", "links"]
            await self.connection.copy_records_to_table("job", records=rows, columns=columns)
            await self.connection.execute("notify job")

    async def close(self) -> None:
        await self.connection.close()


class Raw(System):
    """About 40 lines of asyncpg."""

    name = "raw"
    packages = ("asyncpg",)
    settings = f"asyncpg, batch {BATCH}, two statements a batch, LISTEN/NOTIFY, COPY in bulk"
    backlog = "select exists (select from job where state = 0 or state = 1)"
    finished = "select count(*) from job where state = 2"
    forget = "truncate job"
    chains = ("jobs",)
    history = "insert into job (state, sent) select 2, 0 from generate_series(1, $1::int)"
    statements: ClassVar[Mapping[str, str]] = {"claim": "%update job set state = $%skip locked%"}

    async def install(self, url: str) -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(TABLE)
        await connection.close()

    async def producer(self, url: str) -> Producer:
        return RawProducer(await asyncpg.connect(url))

    async def work(self, url: str, tally: Tally, stop: asyncio.Event) -> None:
        bell = asyncio.Event()
        connection = await asyncpg.connect(url)
        await connection.add_listener("job", lambda *_: bell.set())
        while not stop.is_set():
            bell.clear()
            rows = await connection.fetch(CLAIM, BATCH)
            for row in rows:
                await body(tally, row["sent"], row["links"])
            if rows:
                links = any(row["links"] for row in rows)
                complete = PASS_ON if links else COMPLETE
                await connection.execute(complete, [row["id"] for row in rows])
            else:
                await rest(bell, stop)
        await connection.close()


async def body(tally: Tally, sent: int, links: int) -> None:
    """The job."""
    if links:
        tally.link(links, sent)
    elif sent:
        tally.arrive(sent)
    else:
        tally.add()


async def rest(bell: asyncio.Event, stop: asyncio.Event) -> None:
    """Until the bell, the end, or the next poll."""
    waits = [asyncio.ensure_future(bell.wait()), asyncio.ensure_future(stop.wait())]
    await asyncio.wait(waits, timeout=POLL, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


SYSTEM = Raw()
