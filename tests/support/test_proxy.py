from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.support.moments import until
from tests.support.proxy import FaultProxy, Way

QUICK = 0.3


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[FaultProxy]:
    async with FaultProxy.before(postgres_url) as proxy:
        yield proxy


@pytest.fixture
async def connection(proxy: FaultProxy) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(proxy.url)
    yield connection
    connection.terminate()


async def test_passes_everything_through(connection: asyncpg.Connection) -> None:
    text = "x" * 1_000_000
    assert await connection.fetchval("select $1::text", text) == text


async def test_delays(proxy: FaultProxy, connection: asyncpg.Connection) -> None:
    proxy.delay = 0.2
    started = asyncio.get_running_loop().time()
    await connection.execute("select 1")
    assert asyncio.get_running_loop().time() - started >= 0.4


async def test_black_hole_and_back(proxy: FaultProxy, connection: asyncpg.Connection) -> None:
    proxy.swallow = Way.BOTH
    with pytest.raises(TimeoutError):
        await connection.execute("select 1", timeout=QUICK)
    proxy.swallow = Way.NONE
    connection = await asyncpg.connect(proxy.url)
    assert await connection.fetchval("select 1") == 1
    connection.terminate()


async def test_an_answer_is_lost_but_the_work_is_done(
    proxy: FaultProxy, connection: asyncpg.Connection, empty_database_url: str
) -> None:
    direct = await asyncpg.connect(empty_database_url)
    await direct.execute("create table done ()")
    async with FaultProxy.before(empty_database_url) as lossy:
        deaf = await asyncpg.connect(lossy.url)
        lossy.swallow = Way.ANSWERS
        with pytest.raises(TimeoutError):
            await deaf.execute("insert into done default values", timeout=QUICK)
        assert await direct.fetchval("select count(*) from done") == 1
        deaf.terminate()
    await direct.close()


async def test_resets(proxy: FaultProxy, connection: asyncpg.Connection) -> None:
    asking = asyncio.create_task(connection.execute("select pg_sleep(60)"))
    await until(lambda: proxy.connections == 1)
    proxy.reset()
    with pytest.raises((asyncpg.ConnectionDoesNotExistError, ConnectionResetError)):
        await asking
    await until(lambda: proxy.connections == 0)


async def test_refuses_new_connections_only(
    proxy: FaultProxy, connection: asyncpg.Connection
) -> None:
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        await asyncpg.connect(proxy.url)
    assert await connection.fetchval("select 1") == 1
    await proxy.listen()
    again = await asyncpg.connect(proxy.url)
    assert await again.fetchval("select 1") == 1
    await again.close()


async def test_cuts_a_client_when_the_server_is_not_there(unused_tcp_port: int) -> None:
    async with FaultProxy.before(f"postgresql://postgres@127.0.0.1:{unused_tcp_port}/x") as proxy:
        with pytest.raises((asyncpg.ConnectionDoesNotExistError, ConnectionError)):
            await asyncpg.connect(proxy.url)
