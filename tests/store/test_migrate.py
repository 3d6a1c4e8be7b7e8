"""Migrations: once each, under a lock, into any schema; their sum is the snapshot."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from koken.errors import Conflict
from koken.store import migrate
from tests.support.snapshot import snapshot

SNAPSHOT = Path(__file__).parent / "schema.txt"


async def test_the_sum_of_the_migrations_is_the_snapshot(empty_database_url: str) -> None:
    """After a change on purpose: python -m tests.support.snapshot > tests/store/schema.txt."""
    await migrate.migrate(empty_database_url)
    assert await snapshot(empty_database_url, "koken") == SNAPSHOT.read_text()


async def test_ten_at_once_apply_each_step_once(empty_database_url: str) -> None:
    applied = await asyncio.gather(*(migrate.migrate(empty_database_url) for _ in range(10)))
    assert sorted(len(each) for each in applied) == [0] * 9 + [len(migrate.migrations())]
    assert (await migrate.check(empty_database_url)).usable


async def test_check_changes_nothing(empty_database_url: str) -> None:
    standing = await migrate.check(empty_database_url)
    assert (standing.version, standing.usable) == (0, False)
    assert [each.number for each in standing.pending] == [1, 2, 3, 4, 5, 6]
    assert (await migrate.check(empty_database_url)).version == 0


async def test_the_printed_sql_is_what_is_applied(empty_database_url: str) -> None:
    connection = await asyncpg.connect(empty_database_url)
    try:
        for each in migrate.migrations():
            await connection.execute(migrate.text(each))
    finally:
        await connection.close()
    assert (await migrate.check(empty_database_url)).usable
    assert await migrate.migrate(empty_database_url) == []


async def test_a_schema_with_an_odd_name_is_the_same(empty_database_url: str) -> None:
    """bug-104."""
    await migrate.migrate(empty_database_url, 'Job "Queue"')
    odd = await snapshot(empty_database_url, 'Job "Queue"')
    assert odd == SNAPSHOT.read_text()


async def test_a_newer_schema_is_refused_with_what_to_do(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute("insert into koken.migration values (9999, 'later', 9999)")
    finally:
        await connection.close()
    with pytest.raises(Conflict, match="wants a Koken that knows 9999; this one knows 6"):
        await migrate.migrate(database_url)
    assert not (await migrate.check(database_url)).usable


def test_files_are_numbered_without_a_gap() -> None:
    numbers = [each.number for each in migrate.migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
