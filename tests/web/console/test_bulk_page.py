from __future__ import annotations

import asyncio
from typing import Any

import httpx

from koken.engine.bulk import sweep
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
    told = await page(http, "/bulks/1")
    assert "of 7 runs retried" in told.sentence
    assert "Retry of job:broken by mira" in told.text
    assert "space is there" in told.text


async def test_a_bulk_is_paused_goes_on_and_is_stopped(
    house: House, http: httpx.AsyncClient
) -> None:
    await house.client.start_many(make().registry.get("greet"), [{}, {}])
    found = await page(http, "/bulks/preview?verb=cancel&q=job:greet")
    assert found.sentence == "2 runs would be cancelled: those that match job:greet now."
    await send(http, found, "/bulks", reason=HOSTILE, rate="1/h")
    going = await page(http, "/bulks/1")
    assert going.sentence == "● running 0 of 2 runs cancelled."
    assert "2 to go at 1/h, about 2 h" in going.text
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
        found = await house.client.bulk(1)
        return found.state == "done" and not found.going

    await until(over)
    found = await page(http, "/bulks/1")
    assert found.sentence == "✗ failed again 3 of 3 runs retried: 0 recovered, 3 failed again."
    assert "data-live=" not in found.source
    members = await page(http, found.links["Its 3 runs"])
    assert found.links["Its 3 runs"] == "/runs?q=bulk%3A1"
    assert [row.split()[2] for row in members.rows[1:]] == ["broken"] * 3
    assert (await page(http, "/bulks")).rows[1].startswith("✗ failed again Retry 1")


async def test_a_retry_is_live_until_what_it_retried_has_ended(
    house: House, http: httpx.AsyncClient, worker: Any
) -> None:
    await failures(house, 2)
    await worker.stop(grace=1)
    await house.client.retry_where("job:broken", rate="100/s", reason="once more")
    await sweep(house.db)
    await sweep(house.db)
    found = await page(http, "/bulks/1")
    assert found.sentence == (
        "● under way 2 of 2 runs retried: 0 recovered, 0 failed again, 2 still go."
    )
    assert 'data-live="workspace"' in found.source


async def test_open_failures_are_acknowledged_all_together(
    house: House, http: httpx.AsyncClient, worker: Any
) -> None:
    runs = await failures(house, 2)
    await house.client.acknowledge(runs[0], reason="seen")
    listed = await page(http, "/runs?q=job:broken")
    ways = [name for name in listed.links if name.endswith("…")]
    assert ways == ["Retry all…", "Acknowledge all…"]
    found = await page(http, listed.links["Acknowledge all…"])
    assert found.sentence == "1 run would be acknowledged: those that match job:broken now."
    await send(http, found, "/bulks", reason="known", rate="100/s")
    seen = await until(lambda: seen_by(house, runs[1]))
    assert seen == "mira"
    closed = await page(http, "/runs?q=job:broken")
    assert [name for name in closed.links if name.endswith("…")] == ["Retry all…"]


async def seen_by(house: House, run: int) -> str | None:
    return (await house.client.get(run)).acknowledged_by


async def test_a_bulk_that_is_pressed_twice_is_one(house: House, http: httpx.AsyncClient) -> None:
    await house.client.start_many(make().registry.get("greet"), [{}, {}])
    found = await page(http, "/bulks/preview?verb=cancel&q=job:greet")
    sends = (send(http, found, "/bulks", reason="wrong", rate="1/h") for _ in range(3))
    got = await asyncio.gather(*sends)
    assert [each.headers["location"] for each in got] == ["/bulks/1"] * 3
    assert len(await house.client.bulks()) == 1


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
