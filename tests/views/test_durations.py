"""How long runs took, what they needed, and what is to be expected."""

from __future__ import annotations

from koken.model.states import State
from koken.store.database import Database
from koken.views.durations import durations, quantile
from koken.views.hands import slow_runs
from koken.views.reading import reading
from koken.views.strips import strips
from tests.support.house import House
from tests.views.test_strips import number, one


def test_quantiles() -> None:
    assert quantile([4, 1, 3, 2], 0.5) is None
    assert quantile([5, 4, 1, 3, 2], 0.5) == 3
    assert quantile([float(n) for n in range(1, 101)], 0.95) == 95


async def test_what_runs_took(house: House, views: Database) -> None:
    """Failures are shown and raise no expectation; what has not ended is left out."""
    await house.job()
    ids = [await one(house, "report", State.SUCCEEDED, n) for n in (10, 30, 20, 50, 40)]
    await one(house, "report", State.FAILED, 999)
    await house.start()
    for place, run_id in enumerate(ids, 1):
        await house.rows(
            "insert into koken.usage values ($1, 1, $2, 1.5), ($1, 2, $3, 0.5)",
            run_id,
            place * 1000,
            place * 10,
        )
    found = await durations(views, await number(views, "report"), workspace="default")
    assert [each.seconds for each in found.runs] == [10, 30, 20, 50, 40, 999]
    assert [each.peak_bytes for each in found.runs] == [1000, 2000, 3000, 4000, 5000, None]
    assert found.runs[0].cpu_seconds == 2.0
    assert (found.median, found.p95) == (30, 50)
    assert (found.median_bytes, found.p95_bytes) == (3000, 5000)
    assert found.to_json()["runs"][5] == {
        "id": str(ids[-1] + 1),
        "state": "failed",
        "at": "2026-03-10T12:19:09+00:00",
        "seconds": 999.0,
        "peak_bytes": None,
        "cpu_seconds": None,
    }


async def test_few_runs_raise_no_expectation(house: House, views: Database) -> None:
    await house.job()
    for _ in range(4):
        await one(house, "report", State.SUCCEEDED, 1)
    found = await durations(views, await number(views, "report"), workspace="default")
    assert (len(found.runs), found.median, found.p95) == (4, None, None)
    assert found.last is not None
    assert found.last.seconds == 1


async def test_time_in_which_a_run_had_ended_is_left_out(house: House, views: Database) -> None:
    """By lists, by what is expected, and by what is called late."""
    await house.job()
    for _ in range(5):
        run_id = await one(house, "report", State.SUCCEEDED, 7200 + 60)
        await house.rows("update koken.run set made = 0, idle = '2 h' where id = $1", run_id)
    job = await number(views, "report")
    found = await durations(views, job, workspace="default")
    assert ([each.seconds for each in found.runs], found.p95) == ([60.0] * 5, 60.0)
    strip = (await strips(views, [job], workspace="default"))[job]
    assert [each.seconds for each in strip] == [60.0] * 5
    await house.start()
    await house.claim(1)
    await house.pass_time(seconds=300)
    await house.rows("update koken.run set made = 0, idle = '4 min' where state = 'running'")
    async with reading(views) as session:
        assert await slow_runs(session, "default") == []
        await house.pass_time(seconds=60)
        (late,) = await slow_runs(session, "default")
    assert late.expected == 60.0
