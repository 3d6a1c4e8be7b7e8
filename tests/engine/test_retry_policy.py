"""When failed runs come back: never all at once, never in the past, and what a snooze costs."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

import koken
from koken import Backoff, Snooze
from koken.define.job import Job
from koken.engine import finish, wake
from koken.engine.claim import Claimed
from koken.engine.finish import Ending
from koken.executors.base import Answer, Returned, raised
from koken.runtime import verdict
from tests.support.house import House

YEAR = 365 * 86400.0


def job(**options: Any) -> Job[..., Any]:
    """The job of these tests, as a program declares it."""
    return koken.App().job(lambda: None, name="report", **options)


def what_follows(run: Claimed, answer: Answer, chance: float = 0.0, **options: Any) -> Ending:
    """The ending of a run after that answer."""
    found = verdict.ending(run, job(**options), answer, chance)
    assert found is not None
    return found


FAILED = raised(OSError("no space left"))


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        (Backoff(jitter=0), [10, 3600, 3600, 3600, 3600]),
        (Backoff("linear", base="1m", cap="1d", jitter=0), [60, 1800, 3840, 18600, 60000]),
        (Backoff("fixed", base="5m", jitter=0), [300] * 5),
        (Backoff(base="1h", cap="3000d", jitter=0), [3600, *[259_200_000.0] * 4]),
        (Backoff(base="90000d", cap="90000d", jitter=0), [10 * YEAR] * 5),
        (lambda attempt, _: 2**attempt, [2, *[10 * YEAR] * 4]),
    ],
    ids=["exponential", "linear", "fixed", "high cap", "beyond all", "own function"],
)
async def test_no_wait_overflows(house: House, backoff: Any, delays: list[float]) -> None:
    """bug-040: at attempts 1, 30, 64, 310 and 1,000 the wait is at its cap, and is stored."""
    await house.job(max_attempts=1001)
    for attempt, delay in zip((1, 30, 64, 310, 1000), delays, strict=True):
        await house.start()
        (run,) = await house.claim()
        run.attempt = attempt
        ending = what_follows(run, FAILED, max_attempts=1001, backoff=backoff)
        await finish.finish(house.db, [ending])
        row = await house.row(run.id)
        assert row["state"] == "waiting"
        assert row["wake_at"] == house.now + timedelta(seconds=delay)


async def test_a_thousand_failures_do_not_come_back_together(house: House) -> None:
    """bug-041: five attempts that fail in the same second: none of them returns in a crowd.

    With waits drawn from the whole minute no second holds more than 4 in a hundred.
    """
    backoff = Backoff(base="1m", cap="1h", jitter=1)
    await house.job(max_attempts=6)
    await house.start_many(1000)
    dice = random.Random(7)
    for _ in range(5):
        runs = await house.claim(1000)
        assert len(runs) == 1000
        endings = [
            what_follows(run, FAILED, dice.random(), max_attempts=6, backoff=backoff)
            for run in runs
        ]
        await finish.finish(house.db, endings)
        rows = await house.rows("select date_trunc('second', wake_at) as at from koken.run")
        assert max(Counter(row["at"] for row in rows).values()) <= 40
        await house.pass_time(hours=1)
        await wake.wake(house.db)


async def test_snoozes_cost_no_attempt(house: House) -> None:
    """bug-043: with 3 attempts, snooze 10 times, fail twice, succeed; all of it can be seen."""
    await house.job(max_attempts=3)
    run_id = (await house.start()).run_id
    answers: list[Answer] = [Snooze("1m", "not there yet")] * 10 + [FAILED, FAILED, Returned("1")]
    attempts = []
    for answer in answers:
        (run,) = await house.claim()
        attempts.append(run.attempt)
        ending = what_follows(run, answer, max_attempts=3, backoff="1m")
        await finish.finish(house.db, [ending])
        await house.pass_time(minutes=1)
        await wake.wake(house.db)
    row = await house.row(run_id)
    assert (row["state"], row["attempt"], row["lease"]) == ("succeeded", 3, 13)
    assert attempts == [1] * 11 + [2, 3]
    outcomes = await house.rows("select outcome, count(*) from koken.attempt group by outcome")
    assert {row["outcome"]: row["count"] for row in outcomes} == {"snooze": 10, "retry": 2}


async def test_a_hundred_and_forty_four_attempts(house: House) -> None:
    """As the seeds have it: every 5 minutes for 12 hours, then it has failed."""
    await house.job(max_attempts=144)
    run_id = (await house.start()).run_id
    for _ in range(144):
        (run,) = await house.claim()
        await finish.finish(house.db, [what_follows(run, FAILED, max_attempts=144, backoff="5m")])
        await house.pass_time(minutes=5)
        await wake.wake(house.db)
    row = await house.row(run_id)
    assert (row["state"], row["attempt"]) == ("failed", 144)
    assert await house.value("select count(*) from koken.attempt where outcome = 'retry'") == 143
