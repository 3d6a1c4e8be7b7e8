from __future__ import annotations

import re
from typing import Any

import httpx

from koken.engine.publish import publish_job
from koken.model.job import JobSpec
from koken.runtime.worker import Worker
from koken.web.console.jobs import toggled
from koken.web.house import House
from tests.web.console.reading import Page
from tests.web.console.test_stars import known
from tests.web.shop import make

HOSTILE = '"><script>alert(1)</script>'


async def declare(house: House, name: str, **spec: Any) -> None:
    """Make a job known that no code has."""
    made = JobSpec(name=name, **spec)
    await house.db.run(lambda tx: publish_job(tx, app="test", spec=made, by="test"))


async def page(http: httpx.AsyncClient, address: str = "/jobs", status: int = 200) -> Page:
    got = await http.get(address)
    assert got.status_code == status, got.text
    return Page(got.text)


async def test_an_empty_list_teaches_how_to_declare_a_job(http: httpx.AsyncClient) -> None:
    found = await page(http)
    assert found.sentence == "No jobs yet."
    assert '@app.job(schedule="every day at 2am", tags=["money"])' in found.text
    assert "koken dev" in found.text


async def test_jobs_stand_with_their_health_and_their_past(
    house: House, http: httpx.AsyncClient, worker: Worker
) -> None:
    await known(house, "report", "nightly")
    program = make().registry
    for name in ("greet", "broken"):
        run = await house.client.start(program.get(name))
        await house.client.wait(run)
    found = await page(http)
    assert found.sentence == "4 jobs: 1 failing."
    rows = {row.split()[2]: row for row in found.rows[1:]}
    assert "✗ failing for " in rows["broken"]
    assert "the last 1 run: 1 failed" in rows["broken"]
    assert "✓ healthy by hand default" in rows["greet"]
    assert "the last 1 run: 1 succeeded" in rows["greet"]
    assert "no runs yet · never ran" in rows["nightly"]
    assert "Sum up a day." in rows["report"]
    assert re.search(r"never ran in \d+ (h|min) reports data$", rows["report"])
    assert found.links["report"] == "/jobs/report"
    assert found.links["money 1"] == "/jobs?q=tag%3Amoney"
    assert found.links["✗ failing 1"] == "/jobs?q=state%3Afailing"


async def test_the_list_is_narrowed_by_what_is_asked(house: House, http: httpx.AsyncClient) -> None:
    await known(house, "greet", "report", "nightly")
    found = await page(http, "/jobs?q=tag:money")
    assert found.sentence == "1 job found; none of them fails, is late or paused."
    assert found.links["money 1"] == "/jobs"
    found = await page(http, "/jobs?q=nothing+here")
    assert found.sentence == "No job matches."
    assert found.links["Show all jobs"] == "/jobs"
    found = await page(http, "/jobs?q=colour:red", 422)
    assert found.sentence == "The search cannot be understood."
    assert "colour: is no word here. There are job, tag, owner, queue, state" in found.text
    await page(http, "/jobs?q=%00", 422)


async def test_long_lists_go_on(house: House, http: httpx.AsyncClient) -> None:
    for number in range(102):
        await declare(house, f"job-{number:03d}")
    found = await page(http)
    assert (len(found.rows), found.links["More"]) == (101, "/jobs?after=job-099")
    assert found.sentence == "102 jobs; none of them fails, is late or paused."
    found = await page(http, found.links["More"])
    assert [row.split()[2] for row in found.rows[1:]] == ["job-100", "job-101"]


async def test_texts_of_jobs_are_texts(house: House, http: httpx.AsyncClient) -> None:
    await declare(house, "odd", description=HOSTILE, owner=HOSTILE, tags=(HOSTILE, "two words"))
    found = await page(http)
    assert "<script>" not in found.source.split("<main")[1]
    assert HOSTILE in found.text
    assert found.links["two words"] == "/jobs?q=tag%3A%22two+words%22"
    for address in (f"/jobs?q={HOSTILE}", f"/jobs?q=tag:{HOSTILE}", f"/jobs?after={HOSTILE}"):
        got = await http.get(address)
        assert "<script>alert" not in got.text


def test_words_of_a_query_go_in_and_out() -> None:
    assert toggled("report", "tag", "money") == "report tag:money"
    assert toggled("report tag:money", "tag", "money") == "report"
    assert toggled("state:late x", "state", "failing") == "x state:failing"
    assert toggled("", "tag", "two words") == 'tag:"two words"'
