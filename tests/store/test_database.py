"""Connections: what counts as an absent database, and how they are used again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from threading import Thread

import asyncpg
import pytest

from koken.errors import DatabaseUnreachable, DeclarationError
from koken.store.channel import Channel
from koken.store.database import Database, Transaction
from koken.store.migrate import check
from koken.views.reading import rows


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


async def test_a_connection_that_is_closed_does_not_answer(db: Database) -> None:
    async def work(tx: Transaction) -> None:
        tx.connection.terminate()
        await tx.execute("select 1")

    with pytest.raises(DatabaseUnreachable, match="connection is closed"):
        await db.run(work)


async def test_a_connection_that_is_busy_does_not_answer(db: Database) -> None:
    async def work(tx: Transaction) -> None:
        await asyncio.gather(tx.execute("select 1"), tx.execute("select 2"))

    with pytest.raises(DatabaseUnreachable, match="another operation is in progress"):
        await db.run(work)


@pytest.mark.parametrize("alone", [True, False])
async def test_a_statement_that_takes_too_long_costs_its_connection(
    db: Database, alone: bool
) -> None:
    before = await backend(db)
    slow = "set statement_timeout = 1; select pg_sleep(5)"
    with pytest.raises(DatabaseUnreachable, match="statement timeout"):
        await db.run(lambda tx: tx.execute(slow), alone=alone)
    assert await backend(db) != before


@pytest.mark.parametrize("way", ["statements", "hints", "migrations"])
async def test_an_address_that_is_none_is_a_mistake(way: str) -> None:
    url = "postgresql://localhost/x?sslmode=never"
    ways = {
        "statements": lambda: backend(Database(url)),
        "hints": lambda: Channel(url, "koken", print).open(print),
        "migrations": lambda: check(url),
    }
    with pytest.raises(DeclarationError, match="no way to reach PostgreSQL"):
        await ways[way]()


async def test_after_close_it_opens_again_and_keeps_what_it_opens(db: Database) -> None:
    async with db.session() as lent:
        before = await backend(db)
        await db.close()
    assert lent.connection.is_closed()
    first = await backend(db)
    assert first != before
    assert [await backend(db) for _ in range(3)] == [first] * 3
    assert len(db.idle) == 1


async def test_a_read_finds_another_connection_where_its_own_has_died(database_url: str) -> None:
    async def kill(pid: int) -> None:
        other = await asyncpg.connect(database_url)
        await other.execute(f"select pg_terminate_backend({pid}, 5000)")
        await other.close()

    views = Database(database_url, planner="default")
    asked = "select pg_backend_pid() as pid"
    for write in (False, True):
        (row,) = await rows(views, asked)
        killing = Thread(target=lambda pid=row["pid"]: asyncio.run(kill(pid)))
        killing.start()
        killing.join()  # so that this loop has not heard of it yet
        if write:
            with pytest.raises(DatabaseUnreachable):
                await backend(views)
        else:
            (again,) = await rows(views, asked)
            assert again["pid"] != row["pid"]
    await views.close()
