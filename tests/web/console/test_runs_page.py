from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from koken.views.facets import Facets
from koken.views.standings import Standing
from koken.web.console.runs import chosen, filters, matching
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
    assert found.links["Open failures"] == "/runs?q=job%3Agreet+state%3Aopen"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("state:cancelled state:ready", "0 runs match state:cancelled state:ready."),
        ('state:"cancelled"', '1 run matches state:"cancelled".'),
        ('error:"a state:ready b"', '0 runs match error:"a state:ready b".'),
        ('by:"Mira M"', '2 runs match by:"Mira M".'),
    ],
)
async def test_what_is_counted_is_what_the_query_says(
    house: House, http: httpx.AsyncClient, query: str, sentence: str
) -> None:
    client = house.client.using(by="Mira M")
    for name in ("lea", "kim"):
        run = await client.start(make().registry.get("greet"), name=name)
    await client.cancel(run, reason="no")
    found = await page(http, f"/runs?q={quote(query)}")
    assert found.sentence == sentence
    assert len(found.rows) == (int(sentence[0]) + 1 if sentence[0] != "0" else 0)


async def test_what_a_query_says_is_marked_and_can_be_taken_off() -> None:
    on = {name: href for name, href, on in filters('by:"Mira M" state:"live" x', "Mira M") if on}
    assert on == {
        "Live": "/runs?q=by%3A%22Mira+M%22+x",
        "Mine": "/runs?q=state%3A%22live%22+x",
    }
    counts = Facets(states={Standing.FAILED: 2}, matching=2, whole=True)
    assert [each.current for each in chosen('state:"failed"', counts)] == [True]
    assert [each.current for each in chosen('error:"a state:failed b"', counts)] == [False]


def test_none_of_many_is_told_as_that() -> None:
    some = Facets(states={}, matching=0, whole=False)
    assert matching("state:skipped", some, 0) == "None of the newest 10,000 runs matches"
    assert matching("state:skipped", some, 3) == "3+ runs match"
    assert matching("", Facets(states={}, matching=1, whole=True), 1) == "1 run"


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("stat:failed", "stat: is no word of the query. Did you mean state:?"),
        ("args:7", "args: is no word of the query. Did you mean args.NAME:?"),
        ("colour:7", "since, until, args.NAME."),
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
