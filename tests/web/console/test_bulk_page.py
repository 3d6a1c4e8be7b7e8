from __future__ import annotations

from typing import Any

import httpx

from koken.web.house import House
from tests.support.moments import until
from tests.web.console.reading import Page
from tests.web.shop import make

HOSTILE = "<script>alert(1)</script>"


async def page(http: httpx.AsyncClient, address: str, status: int = 200) -> Page:
    got = await http.get(address)
    assert got.status_code == status, got.text
    return Page(got.text)


async def failures(house: House, count: int, job: str = "broken") -> list[int]:
    found = make().registry.get(job)
    runs = await house.client.start_many(found, [{} for _ in range(count)])
    for run in runs:
        await house.client.wait(run)
    return [run.id for run in runs]


async def send(http: httpx.AsyncClient, found: Page, action: str, **values: str) -> httpx.Response:
    form = found.forms[action]
    return await http.post(action, data={**form.values, **values})


async def test_a_retry_of_many_is_looked_at_then_begun(
    house: House, http: httpx.AsyncClient, worker: Any
) -> None:
    runs = await failures(house, 7)
    listed = await page(http, "/runs?q=job:broken")
    found = await page(http, listed.links["Retry all…"])
    assert found.sentence == "7 runs would be retried: those that match job:broken now."
    assert f"broken {runs[0]}" in found.rows[0]
    assert "and 2 more; all that match" in found.text
    assert "7 broken" in found.text
    refused = await send(http, found, "/bulks", reason=" ", rate="5/s")
    assert refused.status_code == 422
    assert "a retry of many runs wants a reason, for the record" in refused.text
    wrong = await send(http, found, "/bulks", reason="space is there", rate="fast")
    assert (wrong.status_code, "write it as 10/s" in wrong.text) == (422, True)
    assert 'value="space is there"' in wrong.text
    begun = await send(http, found, "/bulks", reason="space is there", rate="100/s")
    assert (begun.status_code, begun.headers["location"]) == (303, "/bulks/1")
    bulk = await page(http, "/bulks/1")
    assert "of 7 runs retried" in bulk.sentence
    assert "Retry of job:broken by mira" in bulk.text
    assert "space is there" in bulk.text


async def test_a_bulk_is_paused_goes_on_and_is_stopped(
    house: House, http: httpx.AsyncClient
) -> None:
    await house.client.start_many(make().registry.get("greet"), [{}, {}])
    found = await page(http, "/bulks/preview?verb=cancel&q=job:greet")
    assert found.sentence == "2 runs would be cancelled: those that match job:greet now."
    await send(http, found, "/bulks", reason=HOSTILE, rate="1/h")
    going = await page(http, "/bulks/1")
    assert going.sentence == "● running 0 of 2 runs cancelled."
    assert "2 to go at 1 an hour, about 2 h" in going.text
    assert HOSTILE not in going.source
    paused = await send(http, going, "/bulks/1/pause", reason="not so fast")
    assert paused.headers["location"] == "/bulks/1"
    held = await page(http, "/bulks/1")
    assert held.sentence == "‖ paused 0 of 2 runs cancelled."
    assert sorted(held.forms) == ["/bulks/1/resume", "/bulks/1/stop"]
    await send(http, held, "/bulks/1/resume")
    again = await page(http, "/bulks/1")
    await send(http, again, "/bulks/1/stop")
    late = await send(http, again, "/bulks/1/pause")
    assert (late.status_code, Page(late.text).sentence) == (
        409,
        "That is not possible as things stand.",
    )
    listed = await page(http, "/bulks")
    assert listed.sentence == "No bulk goes now."
    assert listed.rows[1].startswith("⊘ stopped Cancel 1 job:greet")


async def test_workers_carry_a_bulk_out_and_the_page_tells_how_far(
    house: House, http: httpx.AsyncClient, worker: Any
) -> None:
    await failures(house, 3)
    await house.client.retry_where("job:broken", rate="100/s", reason="once more")

    async def over() -> bool:
        return (await house.client.bulk(1)).state != "running"

    await until(over)
    bulk = await house.client.bulk(1)
    found = await page(http, "/bulks/1")
    assert found.sentence.startswith(
        {"done": "✓ done 3 of 3 runs retried", "stopped": "⊘ stopped "}[bulk.state]
    )


async def test_nothing_to_do_says_what_could_be_done(house: House, http: httpx.AsyncClient) -> None:
    await house.client.start(make().registry.get("greet"))
    found = await page(http, "/bulks/preview?verb=skip&q=job:greet")
    assert "Nothing that matches can be skipped." in found.text
    assert found.links["Retry"] == "/bulks/preview?verb=retry&q=job%3Agreet"
    assert "Nothing was done to many runs yet." in (await page(http, "/bulks")).text
    unknown = await page(http, "/bulks/77", 404)
    assert "There is no bulk 77" in unknown.text
    whole = await page(http, "/bulks/preview?q=", 422)
    assert "say which runs" in whole.text.lower()
