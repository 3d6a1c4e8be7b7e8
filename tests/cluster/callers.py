"""The ways to a database of other programs: each with its own idea of a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, Self, TypeVar

import asyncpg
import django
import psycopg
import sqlalchemy
import sqlalchemy.orm
from django.conf import settings
from django.db.utils import ConnectionHandler
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from koken import AsyncClient, Client
from koken.define.job import Job
from koken.define.machine import Transition

T = TypeVar("T")
INSERT = "insert into public.mine (key) values ('{}')"


class Caller(Protocol):
    """A program in the middle of its own transaction."""

    async def insert(self, key: str) -> None: ...
    async def start(self, job: Job[..., Any], *args: Any) -> int: ...
    async def move(self, transition: Transition, key: Any, **args: Any) -> int | None: ...
    async def savepoint(self) -> None: ...
    async def back(self) -> None: ...
    async def end(self, *, commit: bool) -> None: ...


class Awaiting:
    """What the callers share whose connection awaits."""

    client: AsyncClient
    connection: Any

    async def insert(self, key: str) -> None:
        await self.connection.execute(self.text(INSERT.format(key)))

    async def savepoint(self) -> None:
        await self.connection.execute(self.text("savepoint here"))

    async def back(self) -> None:
        await self.connection.execute(self.text("rollback to savepoint here"))

    async def start(self, job: Job[..., Any], *args: Any) -> int:
        return (await self.client.using(self.connection).start(job, *args)).id

    async def move(self, transition: Transition, key: Any, **args: Any) -> int | None:
        run = await self.client.using(self.connection).move(transition, key, **args)
        return run.id if run else None

    def text(self, statement: str) -> Any:
        return statement


class Asyncpg(Awaiting):
    """asyncpg, with a transaction object."""

    @classmethod
    async def at(cls, url: str) -> Asyncpg:
        self = cls()
        self.client = AsyncClient(url)
        self.connection = await asyncpg.connect(url)
        self.transaction = self.connection.transaction()
        await self.transaction.start()
        return self

    async def end(self, *, commit: bool) -> None:
        await (self.transaction.commit() if commit else self.transaction.rollback())
        await self.connection.close()
        await self.client.close()


class PsycopgAsync(Awaiting):
    """psycopg's async connection."""

    @classmethod
    async def at(cls, url: str) -> PsycopgAsync:
        self = cls()
        self.client = AsyncClient(url)
        self.connection = await psycopg.AsyncConnection.connect(url)
        return self

    async def end(self, *, commit: bool) -> None:
        await (self.connection.commit() if commit else self.connection.rollback())
        await self.connection.close()
        await self.client.close()


class AlchemyAsync(Awaiting):
    """SQLAlchemy's async connection."""

    @classmethod
    async def at(cls, url: str) -> AlchemyAsync:
        self = cls()
        self.client = AsyncClient(url)
        self.engine = create_async_engine(url.replace("postgresql:", "postgresql+asyncpg:"))
        self.connection: AsyncConnection = await self.engine.connect()
        return self

    def text(self, statement: str) -> Any:
        return sqlalchemy.text(statement)

    async def end(self, *, commit: bool) -> None:
        await (self.connection.commit() if commit else self.connection.rollback())
        await self.connection.close()
        await self.engine.dispose()
        await self.client.close()


class Blocking:
    """What the callers share whose connection blocks: a thread of their own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = Client(url)
        self.thread = ThreadPoolExecutor(1)
        self.connection: Any = None

    @classmethod
    async def at(cls, url: str) -> Self:
        self = cls(url)
        await self.apart(self.open)
        return self

    async def apart(self, work: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.thread, work, *args)

    async def insert(self, key: str) -> None:
        await self.apart(self.execute, INSERT.format(key))

    async def savepoint(self) -> None:
        await self.apart(self.execute, "savepoint here")

    async def back(self) -> None:
        await self.apart(self.execute, "rollback to savepoint here")

    async def start(self, job: Job[..., Any], *args: Any) -> int:
        run = await self.apart(self.client.using(self.connection).start, job, *args)
        return run.id

    async def move(self, transition: Transition, key: Any, **args: Any) -> int | None:
        verb = partial(self.client.using(self.connection).move, transition, key, **args)
        run = await self.apart(verb)
        return run.id if run else None

    async def end(self, *, commit: bool) -> None:
        await self.apart(self.connection.commit if commit else self.connection.rollback)
        await self.apart(self.close)
        self.thread.shutdown()

    def open(self) -> None:
        """Begin."""

    def execute(self, statement: str) -> None:
        self.connection.execute(statement)

    def close(self) -> None:
        self.connection.close()
        self.client.close()


class Psycopg(Blocking):
    """psycopg's blocking connection."""

    def open(self) -> None:
        self.connection = psycopg.connect(self.url)


class Alchemy(Blocking):
    """A session of SQLAlchemy."""

    def open(self) -> None:
        url = self.url.replace("postgresql:", "postgresql+psycopg:")
        self.engine = sqlalchemy.create_engine(url)
        self.connection = sqlalchemy.orm.Session(self.engine)

    def execute(self, statement: str) -> None:
        self.connection.execute(sqlalchemy.text(statement))

    def close(self) -> None:
        super().close()
        self.engine.dispose()


class Django(Blocking):
    """A connection of Django, by hand: its ``atomic`` does the same."""

    def open(self) -> None:
        if not settings.configured:
            settings.configure()
            django.setup()
        parts = sqlalchemy.make_url(self.url)
        database = {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": parts.host,
            "PORT": parts.port,
            "USER": parts.username,
            "NAME": parts.database,
        }
        self.connection = ConnectionHandler({"default": database})["default"]
        self.connection.set_autocommit(False)

    def execute(self, statement: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)


KINDS = (Asyncpg, Psycopg, PsycopgAsync, Alchemy, AlchemyAsync, Django)
