"""Many starts in one moment, each over a connection of its own: the rule holds in every round."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest_asyncio

from koken.engine import fire, grant
from koken.errors import Overlapping
from koken.model.policy import Overlap
from koken.model.schedule import Schedule
from koken.store.database import Database
from tests.support.house import House, open_house

AT_ONCE = 50
ROUNDS = 200


@pytest_asyncio.fixture
async def crowd(database_url: str) -> AsyncIterator[House]:
    """A house that so many may enter at once."""
    async with open_house(database_url, size=AT_ONCE) as house:
        yield house


async def live(house: House) -> Counter[str]:
    """How many runs have not ended, by state."""
    rows = await house.rows(
        "select state, count(*) as n from koken.run"
        " where state in ('blocked', 'ready', 'waiting', 'running') group by state"
    )
    return Counter({row["state"]: row["n"] for row in rows})


async def test_skip_if_running(crowd: House) -> None:
    """P-08: of 50 at once one starts, in each of 200 rounds; the others name it as the blocker."""
    await crowd.job(overlap=Overlap.SKIP_IF_RUNNING)
    for _ in range(ROUNDS):
        started = await asyncio.gather(*(crowd.start() for _ in range(AT_ONCE)))
        assert Counter(each.verdict for each in started) == {"started": 1, "skipped": 49}
        assert await live(crowd) == {"ready": 1}
        (run,) = await crowd.claim()
        await crowd.finish(run)
        blockers = await crowd.rows(
            "select distinct error ->> 'blocker' as id from koken.run where id = any($1::bigint[])",
            [each.run_id for each in started if each.verdict == "skipped"],
        )
        assert [row["id"] for row in blockers] == [str(run.id)]


async def test_an_idempotency_key(crowd: House) -> None:
    """bug-078: 50 starts with one key in one moment, 200 times: one run, all get its id."""
    await crowd.job()
    for n in range(ROUNDS):
        key = f"order {n}"
        started = await asyncio.gather(
            *(crowd.start(n=n, idempotency_key=key) for _ in range(AT_ONCE))
        )
        assert Counter(each.verdict for each in started) == {"started": 1, "existing": 49}
        assert len({each.run_id for each in started}) == 1
    assert await crowd.value("select count(*) from koken.run") == ROUNDS


async def test_refuse(crowd: House) -> None:
    """One starts, the others are told which run stands in the way."""
    await crowd.job(overlap=Overlap.REFUSE)
    for _ in range(20):
        answers = await asyncio.gather(
            *(crowd.start() for _ in range(AT_ONCE)), return_exceptions=True
        )
        refused = [answer for answer in answers if isinstance(answer, Overlapping)]
        (run,) = await crowd.claim()
        assert len(refused) == AT_ONCE - 1
        assert {error.held_by for error in refused} == {run.id}
        await crowd.finish(run)


async def test_queue_one(crowd: House) -> None:
    """bug-016: besides the one that runs at most one waits, whatever happens to the first."""
    await crowd.job(overlap=Overlap.QUEUE_ONE)
    await crowd.start()
    (running,) = await crowd.claim()
    for _ in range(20):
        started = await asyncio.gather(*(crowd.start() for _ in range(AT_ONCE)))
        assert Counter(each.verdict for each in started) == {"started": 1, "skipped": 49}
        await grant.sweep(crowd.db)
        assert await live(crowd) == {"running": 1, "blocked": 1}
        await crowd.finish(running)
        (running,) = await crowd.claim()


async def test_queue_all(crowd: House) -> None:
    """All wait, and run one at a time, oldest first."""
    await crowd.job(overlap=Overlap.QUEUE_ALL)
    await asyncio.gather(*(crowd.start() for _ in range(AT_ONCE)))
    await grant.sweep(crowd.db)
    seen = []
    for _ in range(AT_ONCE):
        (run,) = await crowd.claim()
        seen.append(run.id)
        await crowd.finish(run)
    assert seen == sorted(seen)
    assert await live(crowd) == {}


async def test_replace(crowd: House) -> None:
    """The one that runs is asked to stop once, and one of the others is left to follow it."""
    await crowd.job(overlap=Overlap.REPLACE)
    await crowd.start()
    (running,) = await crowd.claim()
    for _ in range(10):
        await asyncio.gather(*(crowd.start() for _ in range(20)))
        await grant.sweep(crowd.db)
        assert await live(crowd) == {"running": 1, "blocked": 1}
        assert (await crowd.row(running.id))["cancel_requested_at"] is not None
        await crowd.finish(running)
        (running,) = await crowd.claim()
    assert await crowd.value("select count(*) from koken.hold") == 1


async def test_several_schedulers(crowd: House) -> None:
    """Four schedulers sweep at once, for two minutes: exactly one run for each due time."""
    await crowd.job("second", schedules=(Schedule("every second"),), overlap=Overlap.ALLOW)
    await crowd.job("minute", schedules=(Schedule("* * * * *"),), overlap=Overlap.ALLOW)
    others = [Database(crowd.db.url) for _ in range(4)]
    for _ in range(120):
        await crowd.pass_time(seconds=1)
        await asyncio.gather(*(fire.fire(each) for each in others))
    for each in others:
        await each.close()
    counts = await crowd.rows(
        "select j.name, count(*), count(distinct r.logical_at) as different"
        " from koken.run r join koken.job j on j.id = r.job_id group by j.name order by j.name"
    )
    assert [tuple(row.values()) for row in counts] == [("minute", 2, 2), ("second", 120, 120)]
    assert await crowd.value("select count(*) from koken.tick where verdict = 'started'") == 122
