from __future__ import annotations

from typing import Any

import httpx
import pytest

from koken.web.console.jobs import back
from koken.web.house import House
from tests.web.console.reading import Page
from tests.web.console.sending import VIEWERS, sent
from tests.web.shop import make


async def known(house: House, *names: str) -> None:
    """Make jobs known."""
    for name in names:
        await house.client.link.publish(make().registry.get(name), "test")


async def test_a_starred_job_comes_first_until_the_star_is_taken_away(
    house: House, http: httpx.AsyncClient
) -> None:
    await known(house, "broken", "greet")
    got = await sent(http, "/jobs", {"starred": "1", "back": "/jobs?q=e"}, "/jobs/greet/star")
    assert (got.status_code, got.headers["location"]) == (303, "/jobs?q=e")
    found = Page((await http.get("/jobs")).text)
    assert ["greet" in row for row in found.rows[1:]] == [True, False]
    assert "Take the star of greet away" in found.text
    got = await sent(
        http, "/jobs/greet", {"starred": "0", "back": "/jobs/greet"}, "/jobs/greet/star"
    )
    assert got.headers["location"] == "/jobs/greet"
    found = Page((await http.get("/jobs")).text)
    assert ["greet" in row for row in found.rows[1:]] == [False, True]


async def test_stars_are_ones_own_and_viewers_have_them_too(open_house: Any) -> None:
    house, http = await open_house(web=VIEWERS)
    await known(house, "broken", "greet")
    vera, otto = {"X-User": "vera"}, {"X-User": "otto"}
    got = await sent(http, "/jobs", {"starred": "1"}, "/jobs/greet/star", headers=vera)
    assert got.status_code == 303
    seen = [Page((await http.get("/jobs", headers=who)).text).rows for who in (vera, otto)]
    assert ["greet" in rows[1] for rows in seen] == [True, False]


async def test_no_star_for_a_job_that_there_is_not_or_without_the_forms_proof(
    house: House, http: httpx.AsyncClient
) -> None:
    await known(house, "greet")
    got = await sent(http, "/jobs", {"starred": "1"}, "/jobs/nothing/star")
    assert got.status_code == 404
    assert (await http.post("/jobs/greet/star", data={"starred": "1"})).status_code == 403


@pytest.mark.parametrize(
    ("wanted", "where"),
    [
        ("/jobs?q=tag:x&after=b", "/jobs?q=tag:x&after=b"),
        ("/jobs/greet", "/jobs/greet"),
        ("https://evil.example/jobs/", "/jobs/a"),
        ("//evil.example/jobs/", "/jobs/a"),
        ("/jobsevil", "/jobs/a"),
        ("javascript:alert(1)", "/jobs/a"),
        ("", "/jobs/a"),
    ],
)
def test_a_form_leads_back_to_pages_of_jobs_only(wanted: str, where: str) -> None:
    assert back(wanted, "/jobs/a") == where
