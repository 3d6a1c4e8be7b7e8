from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx
import pytest
from fastapi import FastAPI

from koken.errors import (
    Conflict,
    DatabaseUnreachable,
    Forbidden,
    InvalidArguments,
    NotFound,
    NotSignedIn,
    TooMany,
)
from koken.web.console import errors
from koken.web.house import House
from tests.web.console.reading import Page
from tests.web.shop import make

HOSTILE = "<script>alert(1)</script>"
RAISED = {
    "conflict": Conflict(
        "run 7 holds lock a", what="a", held_by=7, since=datetime(2026, 3, 1, 9, 12, tzinfo=UTC)
    ),
    "away": DatabaseUnreachable("db.example:5432 gives no answer"),
    "forbidden": Forbidden("kim may not operate in workspace 'acme'; somebody who can"),
    "wrong": InvalidArguments("two things", {"day": "is no date", "size": f"is {HOSTILE}"}),
    "often": TooMany("too many tries", after=30),
    "gone": NotFound(f"there is no {HOSTILE}"),
    "who": NotSignedIn("sign in"),
    "broken": ZeroDivisionError("division by zero"),
}


@pytest.fixture
async def broken(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """Pages that do nothing but raise."""
    pages = FastAPI()
    pages.state.house, pages.state.is_api = house, False
    errors.install(pages)

    @pages.api_route("/{name}", methods=["GET", "POST"])
    async def fail(name: str) -> None:
        raise RAISED[name]

    transport = httpx.ASGITransport(pages, raise_app_exceptions=False, client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:7070") as http:
        yield http


@pytest.mark.parametrize(
    ("name", "status", "sentence", "text"),
    [
        ("conflict", 409, "That is not possible as things stand.", "since 2026-03-01 09:12:00 UTC"),
        ("away", 503, "The database does not answer.", "db.example:5432 gives no answer"),
        ("forbidden", 403, "You may not do that.", "kim may not operate in workspace 'acme'"),
        ("wrong", 422, "That does not fit, so nothing was done.", "day is no date"),
        ("often", 429, "That was too often.", "too many tries"),
        ("gone", 404, "There is nothing here.", f"There is no {HOSTILE}."),
    ],
)
async def test_each_error_is_a_page_that_helps(
    broken: httpx.AsyncClient, name: str, status: int, sentence: str, text: str
) -> None:
    got = await broken.get(f"/{name}", headers={"referer": "http://127.0.0.1:7070/runs?q=x"})
    found = Page(got.text)
    assert (got.status_code, found.sentence) == (status, sentence)
    assert text in found.text
    assert HOSTILE not in got.text
    if name not in ("away",):
        assert found.links["Back"] == "/runs?q=x"
    for_htmx = await broken.get(f"/{name}", headers={"hx-request": "true"})
    assert (for_htmx.status_code, '<main id="main"' in for_htmx.text) == (status, True)


async def test_what_stands_in_the_way_is_linked(broken: httpx.AsyncClient) -> None:
    found = Page((await broken.get("/conflict")).text)
    assert found.links["Run 7, which stands in the way"] == "/runs/7"


async def test_a_database_that_is_away_is_asked_again(broken: httpx.AsyncClient) -> None:
    got = await broken.get("/away?q=1")
    assert got.headers["retry-after"] == "5"
    assert '<meta http-equiv="refresh" content="5">' in got.text
    assert Page(got.text).links["Try again now"] == "/away?q=1"
    assert "http-equiv" not in (await broken.post("/away")).text


async def test_who_is_not_signed_in_comes_back_to_where_they_were(
    broken: httpx.AsyncClient,
) -> None:
    got = await broken.get("/who?q=job:a")
    assert (got.status_code, got.headers["location"]) == (
        303,
        "/sign-in?next=/who%3Fq%3Djob%3Aa",
    )
    live = await broken.get("/who", headers={"hx-request": "true"})
    assert (live.status_code, live.headers["hx-redirect"]) == (401, "/sign-in?next=/who")
    sent = await broken.post("/who", headers={"referer": "http://127.0.0.1:7070/runs/7"})
    assert sent.headers["location"] == "/sign-in?next=/runs/7"


async def test_an_error_of_ours_has_a_number_that_the_log_has_too(
    broken: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "koken.web"):
        got = await broken.get("/broken")
    found = Page(got.text)
    assert (got.status_code, found.sentence) == (500, "This page has an error.")
    assert "division by zero" not in got.text
    (record,) = [each for each in caplog.records if each.name == "koken.web"]
    number = record.getMessage().split()[1]
    assert f"as error {number}." in found.text
    assert record.getMessage() == f"error {number} at GET '/broken'"


async def test_an_address_without_a_page_names_those_near(http: httpx.AsyncClient) -> None:
    got = await http.get(f"/runz/{HOSTILE}")
    found = Page(got.text)
    assert (got.status_code, found.sentence) == (404, "There is nothing here.")
    assert found.links == {"Runs": "/runs", "Overview": "/"}
    assert HOSTILE not in got.text
    wrong = await http.post("/runs")
    assert wrong.status_code in (403, 405)


async def test_a_job_that_is_not_there_leads_to_those_with_a_name_like_it(
    house: House, http: httpx.AsyncClient
) -> None:
    await house.client.start(make().registry.get("report"))
    got = await http.get("/jobs/reprot")
    found = Page(got.text)
    assert got.status_code == 404
    assert (found.links["report"], found.links["Jobs"]) == ("/jobs/report", "/jobs")


async def test_a_slash_at_the_end_leads_nowhere_else(http: httpx.AsyncClient) -> None:
    for path in ("/runs/", "/jobs/", "/api/v1/runs/"):
        got = await http.get(path)
        assert (path, got.status_code, got.headers.get("location")) == (path, 404, None)
