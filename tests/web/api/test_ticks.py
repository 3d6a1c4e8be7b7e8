"""Due times over HTTP: of all schedules, narrowed, page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.web.api.yard import open_yard, problem, token

OpenHouse = Callable[..., Any]
TICKS = """
insert into koken.tick (schedule_id, due_at, until_at, verdict, reason)
select s.id, timestamptz '2026-11-30 00:00Z' + n * interval '6 h',
       timestamptz '2026-11-30 00:00Z' + n * interval '6 h',
       case when n = 2 then 'skipped' else 'started' end,
       case when n = 2 then 'run ' || s.id || ' goes' end
  from koken.schedule s, generate_series(1, 3) n
"""


@pytest.fixture
async def yard(open_house: OpenHouse) -> tuple[Any, httpx.AsyncClient]:
    """Two schedules of one job, each with three ticks at the same times."""
    house, http = await open_yard(open_house)
    async with house.db.transaction() as tx:
        await tx.execute(TICKS)
    return house, http


async def hours(http: httpx.AsyncClient, **asked: Any) -> list[tuple[str, str]]:
    """The hours and the schedules of what is found."""
    got = await http.get("/api/v1/ticks", params=asked)
    assert got.status_code == 200, got.text
    return [(row["due_at"][11:13], row["schedule"]) for row in got.json()["items"]]


async def test_those_of_all_schedules_narrowed(yard: tuple[Any, httpx.AsyncClient]) -> None:
    _, http = yard
    assert await hours(http) == [
        ("18", "2"), ("18", "1"), ("12", "2"), ("12", "1"), ("06", "2"), ("06", "1"),
    ]  # fmt: skip
    assert await hours(http, job="tide", schedule=1) == [("18", "1"), ("12", "1"), ("06", "1")]
    assert await hours(http, job="lift") == []
    assert await hours(http, verdict="skipped,missed") == [("12", "2"), ("12", "1")]
    assert await hours(http, since="2026-11-30T13:00:00Z") == [("18", "2"), ("18", "1")]
    assert await hours(http, before="2026-11-30T12:00:00Z") == [("06", "2"), ("06", "1")]
    assert await hours(http, since="1h") == []
    (row, _) = (await http.get("/api/v1/ticks?verdict=skipped")).json()["items"]
    assert (row["job"], row["reason"], row["count"]) == ("tide", "run 2 goes", 1)


async def test_they_come_in_pages_as_long_as_was_asked_for(
    yard: tuple[Any, httpx.AsyncClient],
) -> None:
    _, http = yard
    for path in ("/ticks", "/jobs/tide/ticks", "/schedules/2/ticks"):
        whole = (await http.get(f"/api/v1{path}")).json()["items"]
        seen, cursor, sizes = [], None, []
        while True:
            asked = {"limit": 2} | ({"cursor": cursor} if cursor else {})
            page = (await http.get(f"/api/v1{path}", params=asked)).json()
            seen += page["items"]
            sizes.append(len(page["items"]))
            cursor = page["next"]
            if cursor is None:
                break
        assert seen == whole
        assert sizes == ([2, 1] if "schedules" in path else [2, 2, 2])
    page = (await http.get("/api/v1/ticks?limit=2")).json()
    other = await http.get("/api/v1/ticks", params={"cursor": page["next"], "verdict": "started"})
    assert problem(other) == (422, "invalid_arguments")


async def test_what_cannot_be_asked_for(yard: tuple[Any, httpx.AsyncClient]) -> None:
    house, http = yard
    for name, text in (
        ("verdict", "late"), ("since", "soon"), ("before", "2026-11-30"), ("schedule", "first"),
    ):  # fmt: skip
        got = await http.get("/api/v1/ticks", params={name: text})
        assert (problem(got), list(got.json()["problems"])) == (
            (422, "invalid_arguments"), [name],
        )  # fmt: skip
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    headers = await token(house, "read", workspace="acme")
    got = await http.get("/api/v1/ticks?job=tide", headers=headers)
    assert got.json() == {"items": [], "next": None}
