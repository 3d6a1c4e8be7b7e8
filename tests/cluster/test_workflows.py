"""Workflows and waiting bodies on several workers, some of which die."""

from __future__ import annotations

import asyncio
import random

from koken.model.states import State
from tests.cluster import flows
from tests.cluster.cluster import TAKEOVER, Cluster
from tests.support.invariants import BROKEN, assert_sound
from tests.support.moments import until

PROGRAM = "tests.cluster.flows:app"
SIZE = 12
TOTAL = sum(number * number for number in range(SIZE))


async def test_workers_killed_while_workflows_go(cluster: Cluster) -> None:
    """Whatever dies, each workflow ends with the same result, and no step before its needs."""
    for _ in range(3):
        await cluster.worker(app=PROGRAM)
    runs = [await cluster.client.start(flows.night, size=SIZE) for _ in range(5)]
    for times in (3, 20, 40):
        await cluster.said("table", times)
        random.Random(times).choice([w for w in cluster.workers if w.code is None]).kill()
        await cluster.worker(app=PROGRAM)
        assert_sound(await cluster.rows(BROKEN))
    await cluster.all_in("succeeded", runs, 4 * TAKEOVER)
    for run in runs:
        assert (await cluster.client.get(run)).result == [TOTAL, TOTAL + 7]
    odd = await cluster.rows(
        "select step, state, attempt from koken.run where state <> 'succeeded' or attempt > 1"
    )
    assert odd == []
    assert_sound(await cluster.rows(BROKEN))


async def test_cancel_reaches_every_leaf_on_every_worker(cluster: Cluster) -> None:
    """Steps, items, a child job: what runs is asked on its worker, the rest ends at once."""
    for _ in range(2):
        await cluster.worker(app=PROGRAM)
    run = await cluster.client.start(flows.tree)
    await cluster.said("began", 4)  # hold, two of three items, the child job
    await cluster.client.cancel(run, reason="wrong night")
    done = await cluster.client.wait(run, timeout=30)
    assert (done.state, done.reason) == (State.CANCELLED, "wrong night")
    states = await cluster.rows(
        "select coalesce(step, 'under') as step, state from koken.run where id <> $1 order by 1, 2",
        run.id,
    )
    assert [tuple(row.values()) for row in states] == [
        ("hold", "cancelled"),
        ("item", "cancelled"),
        ("item", "cancelled"),
        ("item", "cancelled"),
        ("item", "cancelled"),
        ("job", "cancelled"),
        ("names", "succeeded"),
        ("never", "cancelled"),
        ("under", "cancelled"),
    ]
    await until(lambda: len(cluster.facts("left")) == 4)
    assert_sound(await cluster.rows(BROKEN))


async def test_no_signal_is_lost_between_parking_and_sending(cluster: Cluster) -> None:
    """100 bodies take five signals each, which are sent while they park: all of them end."""
    for _ in range(2):
        await cluster.worker(app=PROGRAM, worker={"queues": {"default": 60}, "grace": 10})
    runs = [await cluster.client.start(flows.listener, count=5) for _ in range(100)]

    async def send(number: int) -> None:
        await asyncio.gather(*(cluster.client.signal(run, "number", number) for run in runs))

    for number in range(5):
        await send(number)
    await cluster.all_in("succeeded", runs, 40)
    for run in runs:
        assert (await cluster.client.get(run)).result == [0, 1, 2, 3, 4]
    assert_sound(await cluster.rows(BROKEN))
