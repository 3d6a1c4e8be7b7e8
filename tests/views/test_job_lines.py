"""The jobs of a workspace, judged and found."""

from __future__ import annotations

import pytest

from koken.engine import schedules, stars
from koken.engine.control import acknowledge
from koken.errors import InvalidArguments
from koken.model.schedule import Schedule
from koken.model.states import State
from koken.store.database import Database
from koken.views.joblines import JobPage, job_page
from tests.support.house import House
from tests.views.test_strips import one

HOURLY = (Schedule("0 * * * *"),)


async def look(views: Database, query: str = "", owner: str = "anna", **rest: object) -> JobPage:
    return await job_page(views, query, workspace="default", owner=owner, **rest)  # type: ignore[arg-type]


def names(found: JobPage) -> list[str]:
    return [line.name for line in found.lines]


async def test_health(house: House, views: Database) -> None:
    """What is to be said first of a job comes first."""
    for name in ("broken", "fine", "fresh", "known", "mended"):
        await house.job(name)
    for name in ("late", "stopped"):
        await house.job(name, schedules=HOURLY)
    await one(house, "broken", State.FAILED, 1)
    await one(house, "mended", State.FAILED, 1)
    await one(house, "mended", State.SUCCEEDED, 1)
    await one(house, "fine", State.SUCCEEDED, 1)
    seen = await one(house, "known", State.FAILED, 1)
    await acknowledge(house.db, seen, by="anna", reason="known")
    await schedules.pause(house.db, "stopped", workspace="default", by="anna", reason="moving")
    await house.pass_time(hours=2)
    found = await look(views)
    assert {line.name: line.health.value for line in found.lines} == {
        "broken": "failing",
        "fine": "healthy",
        "fresh": "new",
        "known": "acknowledged",
        "late": "late",
        "mended": "open",
        "stopped": "paused",
    }
    assert names(await look(views, "state:failing,late")) == ["broken", "late"]
    assert (await look(views, "state:failing")).health == found.health


async def test_queries(house: House, views: Database) -> None:
    await house.job("daily", tags=("money", "night shift"), owner="data", queue="reports")
    await house.job("weekly", tags=("money",), owner="mira")
    assert names(await look(views, "dai")) == ["daily"]
    assert names(await look(views, "tag:money")) == ["daily", "weekly"]
    assert names(await look(views, 'tag:"night shift"')) == ["daily"]
    assert names(await look(views, "owner:mira tag:money")) == ["weekly"]
    assert names(await look(views, "queue:reports")) == ["daily"]
    assert names(await look(views, "%")) == []
    found = await look(views, "nothing")
    assert (found.total, found.known) == (0, True)
    assert (await look(views)).tags == {"money": 2, "night shift": 1}
    for bad in ("state:red", "args.x:1", "tag:"):
        with pytest.raises(InvalidArguments):
            await look(views, bad)
    with pytest.raises(InvalidArguments):
        await look(views, "a\x00b")


async def test_stars_come_first_and_pages_go_on(house: House, views: Database) -> None:
    """Stars are one person's, in one workspace."""
    for name in "abcd":
        await house.job(name)
    for name in "dc":
        await stars.star(house.db, name, workspace="default", owner="anna", starred=True)
    await stars.star(house.db, "c", workspace="default", owner="anna", starred=True)
    assert names(await look(views)) == ["c", "d", "a", "b"]
    assert names(await look(views, owner="mira")) == ["a", "b", "c", "d"]
    first = await look(views, limit=1)
    assert (names(first), first.following, first.total) == (["c"], "*c", 4)
    second = await look(views, limit=2, after=first.following)
    assert (names(second), second.following) == (["d", "a"], "a")
    third = await look(views, limit=2, after=second.following)
    assert (names(third), third.following) == (["b"], "")
    await stars.star(house.db, "c", workspace="default", owner="anna", starred=False)
    assert names(await look(views)) == ["d", "a", "b", "c"]


async def test_no_jobs(views: Database) -> None:
    found = await look(views)
    assert (found.known, found.total, names(found)) == (False, 0, [])
