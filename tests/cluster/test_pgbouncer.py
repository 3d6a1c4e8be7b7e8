"""A PgBouncer before the database: the whole life of runs, in both of its modes (bug-101)."""

from __future__ import annotations

import pytest

from koken import AsyncClient
from koken.model.states import State
from tests.cluster import lives
from tests.cluster.cluster import Cluster
from tests.support.moments import until
from tests.support.pgbouncer import pgbouncer

WAYS = {
    "transaction mode, direct hints": ("transaction", "direct"),
    "transaction mode, no hints": ("transaction", ""),
    "session mode, hints through it": ("session", "pooled"),
}
LISTENERS = """
select count(*) from pg_stat_activity
 where application_name = 'koken listener' and datname = current_database()
"""


@pytest.mark.parametrize(("mode", "hints"), WAYS.values(), ids=WAYS.keys())
async def test_a_whole_life(cluster: Cluster, mode: str, hints: str) -> None:
    """Starts, claims, finishes, retries, logs, checkpoints, locks, schedules, cancels, drains."""
    with pgbouncer(cluster.url, mode, 4 if mode == "transaction" else 60) as url:
        settings = {"database_url": url, "pooled": True}
        settings["listen_url"] = {"": "", "direct": cluster.url, "pooled": url}[hints]
        for _ in range(2):
            await cluster.worker(app="tests.cluster.lives:app", **settings)
        async with AsyncClient(Program(**settings), by="test") as client:
            await everything_works(cluster, client)
        assert await cluster.value(LISTENERS) == (2 if hints else 0)
        for worker in cluster.workers:
            worker.process.terminate()
            assert await worker.ended() == 0
    assert not any(worker.says("Traceback") for worker in cluster.workers)


async def test_a_pooler_that_the_settings_do_not_tell_of(cluster: Cluster) -> None:
    """The start says what to set."""
    with pgbouncer(cluster.url) as url:
        worker = cluster.launch(url=url)
        assert await worker.ended() == 2
    assert worker.says("A pooler stands before the database. Set pooled = true, and listen_url")


class Program:
    """The program of ``lives`` with other settings."""

    name = lives.app.name
    registry = lives.app.registry
    modules = ()
    lifespan = None

    def __init__(self, **settings: object) -> None:
        self.settings = settings


async def everything_works(cluster: Cluster, client: AsyncClient) -> None:
    """All that a client and two workers do with each other."""
    many = await client.start_many(lives.small, [{"n": n} for n in range(500)])
    talkative = await client.start(lives.talkative)
    turns = [await client.start(lives.in_turn) for _ in range(10)]
    locked = [await client.start(lives.locked) for _ in range(3)]
    held = await client.start(lives.hold)
    assert (await client.start(lives.small.using(delay="100ms"), 4)).state is State.WAITING
    await cluster.all_in("succeeded", [*many, *turns])
    await until(lambda: len(cluster.facts("began")) >= 12)
    cluster.open()
    await cluster.all_in("succeeded", locked)
    ended = await client.wait(talkative, 20)
    assert (ended.state, ended.result) == (State.SUCCEEDED, "None [1, 2, 3] lease 2")
    assert cluster.count("step") == {talkative.id: 1}
    texts = [line.text for line in await client.logs(talkative)]
    assert texts[:2] == ["logged in attempt 1", "printed in attempt 1"]
    assert texts[-3:] == [
        "RuntimeError: the first one fails",
        "logged in attempt 2",
        "printed in attempt 2",
    ]
    await client.cancel(held)
    assert (await client.wait(held, 20)).state is State.CANCELLED
    await cluster.said("tick", 2)
    assert max(cluster.count("tick").values()) == 1
