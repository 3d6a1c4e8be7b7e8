"""PostgreSQL that goes and comes back: workers reconnect, outcomes are delivered, once each."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from koken.embedded.server import Server
from koken.model.run import Run
from tests.cluster import app
from tests.cluster.cluster import Cluster
from tests.support.moments import until

ALL_OTHERS = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid()
"""


async def test_restarts_under_load(own_server: Server) -> None:
    """Stopped, crashed and started again with two workers at full speed (bug-099)."""
    async with Cluster.at(own_server.url) as cluster:
        for _ in range(2):
            await cluster.worker()
        runs = await start_many(cluster, 10_000)
        for mode in ("fast", "immediate", "fast"):
            await cluster.more_ended(100, of=runs)
            await asyncio.to_thread(own_server.restart, mode)
        await everything_ended_once(cluster, runs)


async def test_connections_terminated_under_load(cluster: Cluster) -> None:
    """All connections of all workers are cut ten times, in the middle of whatever they do."""
    for _ in range(2):
        await cluster.worker()
    runs = await start_many(cluster, 10_000)
    for _ in range(10):
        await cluster.more_ended(100, of=runs)
        await cluster.rows(ALL_OTHERS)
    await everything_ended_once(cluster, runs)


async def start_many(cluster: Cluster, count: int) -> Sequence[Run[Any]]:
    """Runs that do nothing, by a client that is closed again."""
    return await cluster.client.start_many(app.quick, [{"n": n} for n in range(count)])


async def everything_ended_once(cluster: Cluster, runs: Sequence[Run[Any]]) -> None:
    """Every run has succeeded, under its first lease, carried out once."""
    await cluster.all_in("succeeded", runs, 60)
    assert set(cluster.count("ended").values()) == {1}
    rows = await cluster.rows("select distinct lease, attempt, infra_attempt from koken.run")
    assert [tuple(row.values()) for row in rows] == [(1, 1, 0)]


async def test_what_ended_meanwhile_is_delivered_afterwards(own_server: Server) -> None:
    """Bodies of all kinds end while the database is away; their results are not lost."""
    async with Cluster.at(own_server.url) as cluster:
        worker = await cluster.worker()
        jobs = (app.hold_thread, app.hold_loop, app.hold_process)
        runs = [await cluster.client.start(job) for job in jobs]
        await cluster.said("began", 3)
        await asyncio.to_thread(own_server.stop)
        cluster.open()
        await cluster.said("ended", 3)
        await until(lambda: worker.says("koken.heart: no beat for"))
        await asyncio.to_thread(own_server.restart)
        await cluster.all_in("succeeded", runs)
        rows = await cluster.rows("select result, lease, attempt, infra_attempt from koken.run")
        assert [tuple(row.values()) for row in rows] == [('"lease 1"', 1, 1, 0)] * 3


async def test_what_bodies_ask_meanwhile_is_answered_afterwards(own_server: Server) -> None:
    """Waits and children of bodies of all kinds: no attempt is spent, though there is only one."""
    async with Cluster.at(own_server.url) as cluster:
        worker = await cluster.worker()
        jobs = (app.asks_thread, app.asks_loop, app.asks_process)
        runs = [await cluster.client.start(job) for job in jobs]
        await cluster.said("began", 3)
        await asyncio.to_thread(own_server.stop)
        cluster.open()
        await until(
            lambda: all(worker.says(f"run {run.id} waits for the database") for run in runs)
        )
        await asyncio.to_thread(own_server.restart)
        await cluster.all_in("succeeded", runs)
        found = await cluster.rows(
            "select result, attempt, infra_attempt from koken.run where parent_id is null"
        )
        assert [tuple(row.values()) for row in found] == [("6", 1, 0)] * 3


async def test_what_may_not_run_twice_is_stopped_in_time(own_server: Server) -> None:
    """Away for longer than stop_after: such bodies are stopped, the others go on."""
    async with Cluster.at(own_server.url) as cluster:
        worker = await cluster.worker()
        fragile = await cluster.client.start(app.fragile)
        pure = await cluster.client.start(app.hold_thread)
        await cluster.said("began", 2)
        await asyncio.to_thread(own_server.stop)
        assert [fact.run_id for fact in await cluster.said("left", 1)] == [fragile.id]
        await asyncio.to_thread(own_server.restart)
        await cluster.said("began", 3)
        assert worker.code is None
        cluster.open()
        await cluster.all_in("succeeded", [fragile, pure])
        rows = await cluster.rows("select lease, attempt, infra_attempt from koken.run order by id")
        assert [tuple(row.values()) for row in rows] == [(2, 1, 1), (1, 1, 0)]


async def test_a_server_that_refuses_writes_for_a_while(cluster: Cluster) -> None:
    """As after a failover to a standby that is not promoted yet: work resumes afterwards."""
    worker = await cluster.worker()
    database = await cluster.value("select current_database()")
    await cluster.rows(f'alter database "{database}" set default_transaction_read_only = on')
    await cluster.rows(ALL_OTHERS)
    await until(lambda: worker.says("no word from the database"))
    await cluster.rows("set default_transaction_read_only = off")
    await cluster.rows(f'alter database "{database}" reset default_transaction_read_only')
    await cluster.rows(ALL_OTHERS)
    run = await cluster.client.start(app.quick, 7)
    assert (await cluster.client.wait(run, 20)).result == 7
