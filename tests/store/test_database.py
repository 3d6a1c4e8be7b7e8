"""Connections: what counts as an absent database, and how they are used again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from koken.errors import DatabaseUnreachable, DeclarationError
from koken.store.channel import Channel
from koken.store.database import Database
from koken.store.migrate import check


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    db = Database(database_url, size=2)
    yield db
    await db.close()


async def backend(db: Database) -> int:
    """The server's process that answers."""
    rows = await db.run(lambda tx: tx.fetch_text("select pg_backend_pid() as pid"), alone=True)
    return int(rows[0]["pid"])


async def test_a_wrong_number_of_parameters_is_no_absent_database(db: Database) -> None:
    with pytest.raises(asyncpg.InterfaceError, match="expects 1 argument"):
        await db.run(lambda tx: tx.fetch_text("select $1::int"))
    assert await backend(db)


async def test_a_connection_that_is_closed_or_busy_does_not_answer(db: Database) -> None:
    with pytest.raises(DatabaseUnreachable, match="connection is closed"):
        async with db.session() as session:
            session.connection.terminate()
            await session.execute("select 1")
    with pytest.raises(DatabaseUnreachable, match="another operation is in progress"):
        async with db.session() as session:
            await asyncio.gather(session.execute("select 1"), session.execute("select 2"))


@pytest.mark.parametrize("alone", [True, False])
async def test_a_statement_that_takes_too_long_costs_its_connection(
    db: Database, alone: bool
) -> None:
    before = await backend(db)
    with pytest.raises(DatabaseUnreachable, match="statement timeout"):
        async with db.place(alone=alone) as tx:
            await tx.execute("set statement_timeout = 1; select pg_sleep(5)")
    assert await backend(db) != before


async def test_an_address_that_is_none_is_a_mistake() -> None:
    url = "postgresql://localhost/x?sslmode=never"
    for trial in (Database(url).connect, Channel(url, "koken", print).open, check):
        with pytest.raises(DeclarationError, match="no way to reach PostgreSQL"):
            await trial(*{"open": [print], "check": [url]}.get(trial.__name__, []))


async def test_after_close_it_opens_again_and_keeps_what_it_opens(db: Database) -> None:
    async with db.session() as lent:
        before = await backend(db)
        await db.close()
    assert lent.connection.is_closed()
    assert before not in {first := await backend(db)}
    assert [await backend(db) for _ in range(3)] == [first] * 3
    assert len(db.idle) == 1
