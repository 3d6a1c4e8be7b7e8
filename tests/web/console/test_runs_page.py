from __future__ import annotations

from typing import Any

import httpx
import pytest

from koken.web.house import House
from tests.web.console.reading import Page
from tests.web.shop import make

HOSTILE = "<script>alert(1)</script>"


async def page(http: httpx.AsyncClient, address: str, status: int = 200) -> Page:
    got = await http.get(address)
    assert got.status_code == status, got.text
    return Page(got.text)


async def start(house: House, job: str, **args: Any) -> int:
    return (await house.client.start(make().registry.get(job), **args)).id


async def test_an_empty_list_says_what_makes_a_run(http: httpx.AsyncClient) -> None:
    found = await page(http, "/runs")
    assert found.sentence == "0 runs, the newest first."
    assert "No run yet. A run is one carrying out of a job." in found.text
    assert found.links["Jobs"] == "/jobs"


async def test_runs_stand_with_their_state_and_what_they_are_about(
    house: House, http: httpx.AsyncClient
) -> None:
    greeted = await start(house, "greet", name="lea")
    reported = await start(house, "report", password="s3cr3t")
    await house.client.cancel(greeted, reason="a mistake")
    found = await page(http, "/runs")
    assert found.sentence == "2 runs, the newest first."
    assert f"ready report {reported}" in found.rows[1]
    assert "password=•••" in found.rows[1]
    assert "s3cr3t" not in found.source
    assert f"cancelled greet {greeted} name=lea" in found.rows[2]
    assert "a mistake" in found.rows[2]
    assert found.links[f"greet {greeted}"] == f"/runs/{greeted}"


async def test_states_are_counted_whatever_the_query_says_of_them(
    house: House, http: httpx.AsyncClient
) -> None:
    await start(house, "greet", name="lea")
    await house.client.cancel(await start(house, "greet", name="kim"))
    found = await page(http, "/runs?q=job:greet+state:cancelled")
    assert found.sentence == "1 run matches job:greet state:cancelled."
    assert found.links["○ ready 1"] == "/runs?q=job%3Agreet+state%3Aready"
    assert found.links["⊘ cancelled 1"] == "/runs?q=job%3Agreet"
    assert found.links["Last hour"] == "/runs?q=job%3Agreet+state%3Acancelled+since%3A1h"
    assert found.links["Failed"] == "/runs?q=job%3Agreet+state%3Afailed"


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("stat:failed", "stat: is no word of the query. Did you mean state:?"),
        ("job:greet since:soon", "since: 'soon' is neither a duration like 2h nor an instant"),
    ],
)
async def test_a_query_that_cannot_be_read_is_told_beside_its_box(
    http: httpx.AsyncClient, query: str, problem: str
) -> None:
    found = await page(http, f"/runs?q={query}", 422)
    assert found.sentence == "The query cannot be read."
    assert problem in found.text
    assert 'aria-invalid="true" aria-describedby="search-problem"' in found.source
    assert f'value="{query}"' in found.source


async def test_nothing_that_matches_teaches_how_to_ask(
    house: House, http: httpx.AsyncClient
) -> None:
    await start(house, "greet")
    found = await page(http, "/runs?q=job:gree")
    assert found.sentence == "0 runs match job:gree."
    assert "Names are compared as a whole in job:" in found.text


async def test_pages_follow_each_other(house: House, http: httpx.AsyncClient) -> None:
    greet = make().registry.get("greet")
    runs = await house.client.start_many(greet, [{"name": str(n)} for n in range(51)])
    first = await page(http, "/runs?q=job:greet")
    assert len(first.rows) == 51
    second = await page(http, first.links["Older"])
    assert second.sentence == f"51 runs match job:greet, those before run {runs[1].id}."
    assert [row for row in second.rows if "name=0" in row] == second.rows[1:]
    assert "Older" not in second.links


async def test_no_text_of_a_run_becomes_part_of_the_page(
    house: House, http: httpx.AsyncClient
) -> None:
    run = await start(house, "greet", name=HOSTILE)
    await house.client.using(by=HOSTILE).cancel(run, reason=f"{HOSTILE} says so")
    await house.client.using(by=HOSTILE).start(make().registry.get("greet"))
    for address in ("/runs", f"/runs?q=by:{HOSTILE}", f"/runs?q=stat:{HOSTILE}"):
        got = await http.get(address)
        assert HOSTILE not in got.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in got.text
