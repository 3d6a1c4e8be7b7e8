"""Connections to PostgreSQL that are given up when they do not answer.

A statement has a deadline of its own here, on the client's clock: a connection that hangs is
abandoned and a new one takes its place. What a caller sees is ``DatabaseUnreachable``, or one of
Koken's own errors that a function in the database raised.
"""

from __future__ import annotations

import asyncio
import ctypes
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import asyncpg

from koken.errors import DatabaseUnreachable, DeclarationError, KokenError
from koken.store.failures import DEAD, TRANSIENT, UNREACHABLE, reaching, translate, unreachable
from koken.store.statements import Statement, in_schema

T = TypeVar("T")
Row = Any
"""A row as the driver gives it: by name, by position, or as a mapping."""

ENGINE_SETTINGS = {
    # The engine's statements are built for index scans in the order written; see docs/concepts.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
SESSION_SETTINGS = {
    "default_transaction_isolation": "read committed",
    "timezone": "UTC",
    "statement_timeout": "10s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "10s",
}
POOLER = (
    "A pooler stands before the database. Set pooled = true, and listen_url to an address that "
    "leads straight to PostgreSQL, if workers are to be told of new runs at once."
)


class Transaction:
    """A connection inside a transaction; also what one statement outside of one is sent by."""

    def __init__(self, connection: asyncpg.Connection[Any], schema: str, deadline: float) -> None:
        self.connection = connection
        self.schema = schema
        self.deadline = deadline

    async def fetch(self, statement: Statement, *args: Any) -> list[Row]:
        """All rows of a statement."""
        return await self.connection.fetch(
            statement.text(self.schema), *args, timeout=self.deadline
        )

    async def fetch_text(self, text: str, *args: Any) -> list[Row]:
        """All rows of a statement that a view composed."""
        return await self.connection.fetch(
            in_schema(text, self.schema), *args, timeout=self.deadline
        )

    async def execute(self, text: str) -> None:
        """Several statements without arguments."""
        await self.connection.execute(in_schema(text, self.schema), timeout=self.deadline)


LAST: ContextVar[Callable[[Transaction], Awaitable[None]] | None] = ContextVar("last", default=None)
"""What each transaction in this context does last, before it is committed: it counts with the rest.

A statement that stands alone has a transaction for it too; what only reads does without."""


class Reader(Transaction):
    """What only reads outside of a transaction, on a connection that may have died in its sleep.

    Where the first statement finds it dead, that is asked again on a new one, this once.
    """

    renew: Callable[[], Awaitable[asyncpg.Connection[Any]]] | None = None

    async def fetch_text(self, text: str, *args: Any) -> list[Row]:
        """All rows of a statement that a view composed."""
        renew, self.renew = self.renew, None
        try:
            return await super().fetch_text(text, *args)
        except DEAD:
            if renew is None:
                raise
            self.connection.terminate()
            self.connection = await renew()
            return await super().fetch_text(text, *args)


class Database:
    """At most ``size`` connections to ``url``, opened when needed.

    ``planner`` is ``engine`` for the engine's statements, ``default`` for reading. ``pooled`` says
    that a pooler in transaction mode stands between: then no session settings and no prepared
    statements are relied on. ``deadline`` is in seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "koken",
        size: int = 4,
        planner: str = "engine",
        pooled: bool = False,
        deadline: float = 10.0,
    ) -> None:
        self.url = url
        self.schema = schema
        self.pooled = pooled
        self.deadline = deadline
        self.settings = SESSION_SETTINGS | (ENGINE_SETTINGS if planner == "engine" else {})
        self.size = size
        self.places = asyncio.Semaphore(size)
        self.idle: list[asyncpg.Connection[Any]] = []

    async def connect(self) -> asyncpg.Connection[Any]:
        """A new connection of our own, with the session's settings.

        Raises ``DeclarationError`` for a pooler that the settings do not tell of.
        """
        options: dict[str, Any] = {"timeout": self.deadline}
        if self.pooled:
            options["statement_cache_size"] = 0
        else:
            options["server_settings"] = {"application_name": "koken", **self.settings}
        try:
            connection: asyncpg.Connection[Any] = await asyncpg.connect(self.url, **options)
        except asyncpg.ProtocolViolationError as error:
            if "startup parameter" in str(error):
                raise DeclarationError(POOLER) from error
            raise
        return connection

    @asynccontextmanager
    async def session(self, *, reads: bool = False) -> AsyncIterator[Transaction]:
        """A connection, outside of a transaction; closed for good when anything goes wrong."""
        async with self.places:
            home = self.idle
            idle = self.take()
            with reaching():
                connection = idle or await self.connect()
            session = Reader(connection, self.schema, self.deadline)
            session.renew = self.connect if idle and reads else None
            healthy = False
            try:
                with reaching():
                    yield session
                healthy = True
            except asyncpg.PostgresError as error:
                healthy = True
                raise translate(error) from error
            except DatabaseUnreachable:
                raise
            except KokenError:
                healthy = not session.connection.is_in_transaction()
                raise
            finally:
                connection = session.connection
                if healthy and home is self.idle and not connection.is_closed():
                    home.append(connection)
                else:
                    connection.terminate()

    def take(self) -> asyncpg.Connection[Any] | None:
        """An idle connection that still lives."""
        while self.idle:
            connection = self.idle.pop()
            if not connection.is_closed():
                return connection
        return None

    @asynccontextmanager
    async def transaction(self, *, reads: bool = False) -> AsyncIterator[Transaction]:
        """A transaction: committed at the end, rolled back on an error."""
        async with self.session() as session:
            await session.execute(self.preamble())
            try:
                yield session
                if not reads and (last := LAST.get()) is not None:
                    await last(session)
            except UNREACHABLE:
                raise  # the session is given up, and the transaction with it
            except Exception:
                await session.execute("rollback")
                raise
            await session.execute("commit")

    @asynccontextmanager
    async def place(self, *, alone: bool, reads: bool = False) -> AsyncIterator[Transaction]:
        """Where to send statements that belong together, or one that stands alone.

        Behind a pooler each goes into a transaction: only that is sure to stay with one server.
        ``reads``: what is sent changes nothing, so that it may be sent twice.
        """
        single = alone and not self.pooled and (reads or LAST.get() is None)
        async with self.session(reads=reads) if single else self.transaction(reads=reads) as tx:
            yield tx

    def preamble(self) -> str:
        """What begins a transaction; behind a pooler the session's settings go with it."""
        if not self.pooled:
            return "begin"
        local = "; ".join(
            f"set local {name} = '{value}'"
            for name, value in self.settings.items()
            if name != "default_transaction_isolation"
        )
        return f"begin isolation level read committed; {local}"

    async def fetch(self, statement: Statement, *args: Any) -> list[Row]:
        """The rows of one statement, in a transaction of its own; tried again on a deadlock."""

        async def work(tx: Transaction) -> list[Row]:
            return await tx.fetch(statement, *args)

        return await self.run(work, alone=True)

    async def run(self, work: Callable[[Transaction], Awaitable[T]], *, alone: bool = False) -> T:
        """``work`` in a transaction, again when PostgreSQL says that it only met somebody.

        ``alone``: it is a single statement and needs no begin and commit.
        """
        for trial in range(6):
            try:
                async with self.place(alone=alone) as tx:
                    return await work(tx)
            except KokenError as error:
                if not isinstance(error.__cause__, TRANSIENT):
                    raise
                if trial == 5:
                    raise unreachable(error) from error
            await asyncio.sleep(random.uniform(0, 0.01 * 2**trial))
        raise AssertionError("the last round returns or raises")

    def begin_anew(self) -> None:
        """Forget all connections, in a process that was forked: they are its parent's."""
        keep_for_ever(self.idle)
        self.idle = []
        self.places = asyncio.Semaphore(self.size)

    async def close(self) -> None:
        """Give up all idle connections; those in use are closed when they come back.

        A later use opens new ones.
        """
        idle, self.idle = self.idle, []
        for connection in idle:
            try:
                await connection.close(timeout=2)
            except (OSError, TimeoutError, asyncpg.InterfaceError, asyncpg.PostgresError):
                connection.terminate()


def keep_for_ever(thing: object) -> None:
    """Never collect ``thing``: what it holds would say good-bye on a socket that others use."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
