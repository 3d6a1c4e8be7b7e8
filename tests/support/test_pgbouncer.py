from __future__ import annotations

import asyncpg

from tests.support.pgbouncer import pgbouncer


async def test_transactions_of_two_clients_share_a_server(empty_database_url: str) -> None:
    with pgbouncer(empty_database_url) as url:
        one = await asyncpg.connect(url, statement_cache_size=0)
        two = await asyncpg.connect(url, statement_cache_size=0)
        assert await backend(one) == await backend(two)
        async with one.transaction():
            held = await backend(one)
            assert await backend(two) != held
            assert await backend(one) == held
        await one.close()
        await two.close()


async def backend(connection: asyncpg.Connection) -> int:
    return int(await connection.fetchval("select pg_backend_pid()"))
