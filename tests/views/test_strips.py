"""The latest outcomes of jobs."""

from __future__ import annotations

from koken.engine.control import acknowledge
from koken.model.states import State
from koken.store.database import Database
from koken.views.jobfacts import job_facts
from koken.views.strips import failing_since, strips
from tests.support.house import House


async def one(house: House, job: str, state: State, seconds: float) -> int:
    """A run that takes so long; the clock stands at its end then."""
    run_id = (await house.start(job)).run_id
    (claimed,) = await house.claim(1)
    await house.pass_time(seconds=seconds)
    await house.finish(claimed, state)
    return run_id


async def number(views: Database, job: str) -> int:
    return (await job_facts(views, job, workspace="default")).id


async def test_strips_of_several_jobs_at_once(house: House, views: Database) -> None:
    """The latest runs of each, the oldest first, with how long they took."""
    for name in ("import", "report", "never"):
        await house.job(name)
    for seconds in (5, 7, 9):
        await one(house, "report", State.SUCCEEDED, seconds)
    await one(house, "import", State.FAILED, 3)
    await house.start("import")
    ids = [await number(views, name) for name in ("import", "report", "never")]
    found = await strips(views, ids, workspace="default", limit=2)
    told = [[(each.state.value, each.seconds) for each in found[job]] for job in ids]
    assert told == [
        [("failed", 3.0), ("ready", None)],
        [("succeeded", 7.0), ("succeeded", 9.0)],
        [],
    ]
    assert (await strips(views, ids, workspace="GLOBAL"))[ids[0]] == []


async def test_since_when_a_job_fails(house: House, views: Database) -> None:
    """The first failure after the last success; runs that have not ended do not count."""
    await house.job()
    job = await number(views, "report")
    await one(house, "report", State.FAILED, 1)
    await one(house, "report", State.SUCCEEDED, 1)
    first = await one(house, "report", State.FAILED, 1)
    last = await one(house, "report", State.FAILED, 1)
    await house.start()
    strip = (await strips(views, [job], workspace="default"))[job]
    since = failing_since(strip)
    assert since is not None
    assert since.id == first
    await acknowledge(house.db, last, by="anna", reason="known")
    strip = (await strips(views, [job], workspace="default"))[job]
    assert [each.mark.look for each in strip[-3:]] == ["failed", "acknowledged", "ready"]
    assert failing_since(strip) is None
