"""The private server of a bench, a database for each system, and what the server spends."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import asyncpg

from bench import proc
from bench.sizes import Sizes
from bench.systems.base import BATCH, Producer, System
from koken.embedded.server import Server
from koken.errors import Conflict

FOLDER = Path(__file__).parent.parent / ".koken" / "bench"
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "512MB",
    "max_connections": "200",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
    "shared_preload_libraries": "pg_stat_statements",
}
"""Full durability. Checkpoints do not come in between, for they make whoever is next write more."""

CALLS = """
select coalesce(sum(calls), 0)::float8 from pg_stat_statements
 where dbid = (select oid from pg_database where datname = $1)
"""
COST = """
select coalesce(sum(calls), 0)::float8 as calls, coalesce(sum(total_exec_time), 0) as took,
       coalesce(sum(rows), 0)::float8 as rows
  from pg_stat_statements
 where dbid = (select oid from pg_database where datname = $1) and query ilike $2
"""
TRANSACTIONS = (
    "select (xact_commit + xact_rollback)::float8 from pg_stat_database where datname = $1"
)
WAL = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8"


class Base:
    """A system's database, and the bench's own connection to it."""

    def __init__(self, system: System, name: str, url: str) -> None:
        self.system = system
        self.name = name
        self.url = url
        self.connection: asyncpg.Connection[Any]

    async def open(self) -> None:
        """Make the system's tables and connect."""
        await self.system.install(self.url)
        self.connection = await asyncpg.connect(self.url)

    async def empty(self) -> None:
        """Forget all jobs."""
        await self.connection.execute(self.system.forget)

    async def settle(self) -> None:
        """The table as it is a while later: vacuumed, with statistics."""
        await self.connection.execute("vacuum analyze")

    async def fill(self, count: int, *, sudden: bool = False) -> None:
        """A backlog of empty jobs. ``sudden``: so new that statistics do not know of it."""
        if sudden:
            await self.settle()
        async with self.producer() as producer:
            for begin in range(0, count, BATCH):
                await producer.start_many(min(BATCH, count - begin))
        if not sudden:
            await self.settle()

    async def remember(self, count: int) -> None:
        """Jobs that have finished long ago."""
        assert self.system.history is not None
        await self.connection.execute("set synchronous_commit = off")
        await self.connection.execute(self.system.history.replace("$1", str(count)), timeout=900)
        await self.settle()

    @asynccontextmanager
    async def producer(self) -> AsyncIterator[Producer]:
        """Somebody who starts jobs."""
        producer = await self.system.producer(self.url)
        try:
            yield producer
        finally:
            await producer.close()

    async def done(self) -> bool:
        """Whether no job is left."""
        return not await self.connection.fetchval(self.system.backlog)

    async def finished(self) -> int:
        """How many jobs are finished and remembered."""
        return int(await self.connection.fetchval(self.system.finished))


class Lab:
    """Where measurements are taken; ``async with`` starts it and takes it down."""

    def __init__(self, sizes: Sizes, *, folder: Path = FOLDER) -> None:
        self.sizes = sizes
        self.folder = folder
        self.bases: dict[str, Base] = {}
        self.round = 0
        self.server: Server
        self.control: asyncpg.Connection[Any]

    async def __aenter__(self) -> Self:
        self.server = await asyncio.to_thread(self.boot)
        self.control = await asyncpg.connect(self.server.url)
        await self.control.execute("create extension pg_stat_statements")
        return self

    def boot(self) -> Server:
        """A new server in an empty folder. Raises ``Conflict`` when another bench is at it."""
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        server = Server.start(self.folder / "data", settings=SETTINGS)
        if not server.owned:
            raise Conflict("another bench is running here", what=str(self.folder))
        return server

    async def __aexit__(self, *_: object) -> None:
        for base in self.bases.values():
            await base.connection.close()
        await self.control.close()
        await asyncio.to_thread(self.server.stop)
        shutil.rmtree(self.folder, ignore_errors=True)

    async def base(self, system: System, purpose: str = "main") -> Base:
        """The system's database for a purpose, made when first needed."""
        name = f"{system.name}_{purpose}"
        if name not in self.bases:
            await self.control.execute(f"create database {name}")
            base = Base(system, name, self.server.url.rpartition("/")[0] + f"/{name}")
            await base.open()
            self.bases[name] = base
        return self.bases[name]

    async def transactions(self, base: Base) -> float:
        """Transactions of a database so far; those of connections that have ended, for certain."""
        await asyncio.sleep(0.3)
        return float(await self.control.fetchval(TRANSACTIONS, base.name))

    async def calls(self, base: Base) -> float:
        """Statements of a database so far."""
        return float(await self.control.fetchval(CALLS, base.name))

    async def cost(self, base: Base, pattern: str) -> Mapping[str, float]:
        """Calls, milliseconds and rows so far of the statements like ``pattern``."""
        return dict(await self.control.fetchrow(COST, base.name, pattern) or {})

    async def wal(self) -> float:
        """Bytes of write-ahead log so far."""
        return float(await self.control.fetchval(WAL))

    def cpu(self) -> float:
        """Seconds of processor time of the server so far, all its processes together."""
        return proc.cpu(self.server.pid)
