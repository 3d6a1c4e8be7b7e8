"""A network that fails: connections that hang or break, answers that are lost, late arrivals."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
import pytest_asyncio

from koken import AsyncClient
from koken.engine import claim, register
from koken.errors import DatabaseUnreachable
from koken.model.run import Run
from koken.store.database import Database
from tests.cluster import app
from tests.cluster.cluster import TAKEOVER, Cluster
from tests.support.moments import until
from tests.support.proxy import FaultProxy, Way

DEADLINE = 10.0
"""Seconds after which a worker gives up a statement."""


@pytest_asyncio.fixture
async def proxy(database_url: str) -> AsyncIterator[FaultProxy]:
    """The way of one worker to the database."""
    async with FaultProxy.before(database_url) as made:
        yield made


async def ended_once(cluster: Cluster, runs: Sequence[Run[Any]], timeout: float = 60) -> None:
    """Every run has succeeded, under its first lease, carried out once."""
    await cluster.all_in("succeeded", runs, timeout)
    assert cluster.count("ended") == {run.id: 1 for run in runs}
    rows = await cluster.rows("select distinct lease, attempt, infra_attempt from koken.run")
    assert [tuple(row.values()) for row in rows] == [(1, 1, 0)]


async def test_answers_lost_by_a_reset(cluster: Cluster, proxy: FaultProxy) -> None:
    """Commits are done and their answers lost, of claims and finishes: each run counts once."""
    await cluster.worker(url=proxy.url, worker={"queues": {"default": 5}, "grace": 10})
    runs = await cluster.client.start_many(app.quick, [{"n": n} for n in range(3000)])
    for _ in range(15):
        await cluster.more_ended(20, of=runs)
        before = await cluster.states()
        proxy.swallow = Way.ANSWERS
        with suppress(AssertionError):  # it was connecting just then, and nothing moves
            await until(lambda before=before: moved(cluster, before), 0.3)
        proxy.reset()
        proxy.swallow = Way.NONE
    await ended_once(cluster, runs)


async def moved(cluster: Cluster, before: Counter[str]) -> bool:
    """Whether a run has changed its state."""
    return await cluster.states() != before


async def test_a_black_hole(cluster: Cluster, proxy: FaultProxy) -> None:
    """Connections hang, in both directions: they are given up after a deadline, nothing is lost.

    The worker's runs end meanwhile, and are delivered over new connections.
    """
    worker = await cluster.worker(url=proxy.url)
    runs = [await cluster.client.start(app.hold_thread) for _ in range(5)]
    runs += [await cluster.client.start(app.hold_process)]
    await cluster.said("began", 6)
    proxy.swallow = Way.BOTH
    cluster.open()
    await cluster.said("ended", 6)
    await until(lambda: worker.says("koken.heart: no beat for"))
    proxy.swallow = Way.NONE
    await ended_once(cluster, runs, DEADLINE + 10)
    more = await cluster.client.start(app.quick, 8)
    assert (await cluster.client.wait(more, 20)).result == 8
    assert worker.code is None


async def test_cut_off_for_longer_than_the_lease(cluster: Cluster, proxy: FaultProxy) -> None:
    """Cut off from the database: what may not run twice has stopped before another begins it.

    What the others answer late is refused; the worker comes back as a new one.
    """
    worker = await cluster.worker(url=proxy.url)
    fragile = await cluster.client.start(app.fragile)
    pure = await cluster.client.start(app.hold_thread)
    await cluster.said("began", 2)
    proxy.swallow = Way.BOTH
    await cluster.worker()
    await cluster.said("began", 4, TAKEOVER)
    story = [(fact.run_id, fact.what, fact.lease) for fact in cluster.facts()]
    left, again = (fragile.id, "left", 1), (fragile.id, "began", 2)
    assert story.index(left) < story.index(again)
    cluster.open("go.1")
    await until(lambda: cluster.count("ended") == {pure.id: 1})
    proxy.swallow = Way.NONE
    await until(lambda: worker.says("works on as worker 3"), DEADLINE + 10)
    assert await cluster.states() == {"running": 2}
    cluster.open()
    await cluster.all_in("succeeded", [fragile, pure])
    assert [run.result for run in await cluster.client.find("")] == ["lease 2", "lease 2"]


async def test_a_start_whose_answer_is_lost(cluster: Cluster, proxy: FaultProxy) -> None:
    """The caller hears nothing, starts again with the same key, and there is one run."""
    await cluster.worker()
    keyed = app.quick.using(idempotency_key="order 7")
    async with AsyncClient(proxy.url) as client:
        before = await client.start(app.quick, 1)
        proxy.swallow = Way.ANSWERS
        lost = asyncio.ensure_future(client.start(keyed, 7))
        await until(lambda: cluster.value("select count(*) = 2 from koken.run"))
        proxy.reset()
        proxy.swallow = Way.NONE
        with pytest.raises(DatabaseUnreachable):
            await lost
        again = await client.start(keyed, 7)
    assert again.id == before.id + 1
    await ended_once(cluster, [before, again])


async def test_a_claim_that_arrives_late(cluster: Cluster) -> None:
    """A claim was given up, and reaches the database all the same: the worker finds the run.

    What the worker sent then is sent here, in its name.
    """
    await cluster.worker(worker={"queues": {"default": 1}})
    first = await cluster.client.start(app.hold_thread)
    await cluster.said("began", 1)
    second = await cluster.client.start(app.quick, 9)
    db = Database(cluster.url)
    (queue_id,) = (await register.queue_ids(db, {"default": 1})).values()
    assert [run.id for run in await claim.from_bottom(db, 1, {queue_id: 1})] == [second.id]
    await db.close()
    assert await cluster.states() == {"running": 2}
    cluster.open()
    await ended_once(cluster, [first, second])
