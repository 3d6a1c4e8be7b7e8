"""Oban for Python, which needs Python 3.12: a queue with 100 places, jobs kept for a day."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
from oban import Oban, job
from oban.schema import install_sql

from bench.systems.base import LINKS, Producer, System
from bench.tally import Tally

LIMIT = 100

tally = Tally()
"""Where the bodies count. Oban finds its jobs by their module, so a process has one."""


@job(queue="default")
async def empty() -> None:
    tally.add()


@job(queue="default")
async def stamped(sent: int) -> None:
    tally.arrive(sent)


@job(queue="default")
async def link(left: int, sent: int) -> None:
    tally.link(left, sent)
    if left > 1:
        await Oban.get_instance().enqueue(link.new(left - 1, sent))


class ObanProducer:
    """An instance without queues."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool
        self.oban = Oban(pool=pool)

    async def start(self, sent: int) -> None:
        await self.oban.enqueue(stamped.new(sent))

    async def start_many(self, count: int) -> None:
        await self.oban.enqueue_many(empty.new() for _ in range(count))

    async def start_chains(self, kind: str, count: int, sent: int) -> None:
        await self.oban.enqueue_many(link.new(LINKS, sent) for _ in range(count))

    async def close(self) -> None:
        await self.pool.close()


class ObanSystem(System):
    """A peer that claims in batches and completes one by one."""

    name = "oban"
    packages = ("oban", "psycopg")
    settings = f"queue limit={LIMIT}, async jobs, Postgres notifier, completed jobs kept"
    share = 0.1
    backlog = (
        "select exists (select from oban_jobs where state = 'available')"
        " or exists (select from oban_jobs where state = 'executing')"
    )
    finished = "select count(*) from oban_jobs where state = 'completed'"
    forget = "truncate oban_jobs"
    chains = ("jobs",)

    async def install(self, url: str) -> None:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(install_sql().encode())

    async def producer(self, url: str) -> Producer:
        return ObanProducer(await Oban.create_pool(url))

    async def work(self, url: str, counted: Tally, stop: asyncio.Event) -> None:
        tally.cells = counted.cells
        pool = await Oban.create_pool(url)
        async with Oban(pool=pool, queues={"default": LIMIT}):
            await stop.wait()
        await pool.close()


SYSTEM = ObanSystem()
