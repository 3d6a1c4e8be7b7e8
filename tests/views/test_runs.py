"""Lists of runs: what a query finds, page by page, and what it is refused for."""

from __future__ import annotations

from datetime import timedelta

import pytest

from koken.errors import InvalidArguments, NotFound
from koken.store.database import Database
from koken.views import logs, runs
from koken.views.pages import FEW
from tests.support.house import NOON, House


async def found(views: Database, query: str, **options: int) -> list[int]:
    """The numbers of the runs that a query finds in the workspace ``default``."""
    return [run.id for run in await runs.find(views, query, workspace="default", **options)]


async def by_the_minute(house: House, *minutes: float) -> list[int]:
    """Runs that were created so many minutes before noon, in this order."""
    ids = []
    for minute in minutes:
        await house.set_clock(NOON - timedelta(minutes=minute))
        ids.append((await house.start()).run_id)
    await house.set_clock(NOON)
    return ids


async def test_since_and_until(house: House, views: Database) -> None:
    await house.job()
    a, b, c, d = await by_the_minute(house, 600, 120, 119, 1)
    assert await found(views, "since:2h") == [d, c, b]
    assert await found(views, "until:2h") == [a]
    assert await found(views, "since:2h until:90m") == [c, b]
    assert await found(views, f"since:{NOON - timedelta(minutes=119):%Y-%m-%dT%H:%M}") == [d, c]
    assert await found(views, "since:2w") == await found(views, "until:0") == [d, c, b, a]
    assert await found(views, "since:0") == await found(views, "until:11h") == []


async def test_times_when_the_clock_was_set_back(house: House, views: Database) -> None:
    """Numbers grow while times do not; up to an hour of that changes nothing."""
    await house.job()
    a, b, c, d, e = await by_the_minute(house, 90, 31, 89, 61, 10)
    assert await found(views, "since:1h") == [e, b]
    assert await found(views, "until:1h") == [d, c, a]
    assert await found(views, "since:75m until:30m") == [d, b]


async def test_times_without_any_run(house: House, views: Database) -> None:
    await house.job()
    assert await found(views, "since:2h") == await found(views, "until:1h") == []


async def test_times_across_gaps(house: House, views: Database) -> None:
    """Numbers that were never given out, or whose runs are pruned, are between others."""
    await house.job()
    a, b, c, d = await by_the_minute(house, 600, 400, 200, 1)
    await house.rows("update koken.run set id = id + 1000000 where id > $1", a)
    b, c, d = b + 1000000, c + 1000000, d + 1000000
    await house.rows("delete from koken.run where id = $1", c)
    assert await found(views, "since:5h") == [d]
    assert await found(views, "until:5h") == [b, a]


async def test_page_after_page(house: House, views: Database) -> None:
    await house.job()
    ids = await house.start_many(7)
    pages = []
    end = None
    while page := await found(views, "job:report", limit=3, **({"before": end} if end else {})):
        pages.append(page)
        end = page[-1]
    assert pages == [ids[:3:-1], ids[3:0:-1], ids[:1]]
    with pytest.raises(InvalidArguments, match="before is -1, which is no run's number"):
        await found(views, "", before=-1)
    with pytest.raises(InvalidArguments, match="before is"):
        await found(views, "", before=2**63)


async def test_names_of_jobs(house: House, views: Database) -> None:
    """One, several, by a part of their names, of another workspace, of nobody."""
    for name in ("report", "reports_old", "import"):
        await house.job(name)
    a, b, c = [(await house.start(job)).run_id for job in ("report", "reports_old", "import")]
    await house.start("report", workspace="acme")
    assert await found(views, "job:report") == [a]
    assert await found(views, "job:report,import") == [c, a]
    assert await found(views, "rep") == [b, a]
    assert await found(views, "job:nobody") == await found(views, "report import") == []
    assert await runs.find(views, "", workspace="nowhere") == []
    (there,) = await runs.find(views, "rep", workspace="acme")
    assert there.workspace == "acme"
    last = await runs.get(views, "report", workspace="default")
    assert last.id == a


async def test_more_jobs_than_are_looked_through_one_by_one(house: House, views: Database) -> None:
    await house.job("report")
    await house.rows(
        "insert into koken.job (workspace_id, name, app, version_id)"
        f" select 2, 'report' || n, 'test', 1 from generate_series(1, {FEW}) n"
    )
    ids = await house.start_many(3)
    assert await found(views, "rep", limit=2) == ids[:0:-1]


@pytest.mark.parametrize(
    "query",
    [
        "job:a\0",
        "\udcff",
        "args.x:\ud800",
        "since:inf",
        "since:1e300",
        "since:0001-01-01T00:00:00+14:00",
        "until:99999999999d",
        f"id:{'9' * 5000}",
        "id:",
        "id:x",
    ],
)
async def test_values_that_are_refused(views: Database, query: str) -> None:
    with pytest.raises(InvalidArguments):
        await runs.find(views, query, workspace="default")


@pytest.mark.parametrize("limit", [-1, 2**70])
async def test_lengths_that_are_refused(views: Database, limit: int) -> None:
    """Whatever gets past all doors is refused as what it is, and the connection stays."""
    with pytest.raises(InvalidArguments, match="PostgreSQL cannot read a value: "):
        await logs.lines(views, 1, limit=limit)
    assert len(views.idle) == 1


@pytest.mark.parametrize("name", ["9" * 30, "9" * 5000, 2**63, -1, "²"])
async def test_numbers_that_no_run_has(views: Database, name: int | str) -> None:
    with pytest.raises(NotFound):
        await runs.get(views, name, workspace="default")


@pytest.mark.parametrize("name", ["a\0", "\udcff"])
async def test_names_that_no_job_has(views: Database, name: str) -> None:
    with pytest.raises(InvalidArguments):
        await runs.get(views, name, workspace="default")
