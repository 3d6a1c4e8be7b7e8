"""Guessing names and passwords."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from koken.engine import signins
from koken.model.web import Web
from koken.views.access import sessions
from tests.web.access.conftest import form


async def test_guessing_is_slow_whichever_console_is_asked(open_house: Any, user: Any) -> None:
    house, http = await open_house()
    _, beside = await open_house()
    await user(house, "anna", viewer="*")
    for number in range(5):
        asked = (http, beside)[number % 2]
        got = await asked.post("/sign-in", data=form(password=f"guess {number}"))
        assert got.status_code == 401
    for asked in (http, beside):
        got = await asked.post("/sign-in", data=form("ANNA"))
        assert got.status_code == 429
        assert 800 < int(got.headers["retry-after"]) <= 900
        assert "try again in 15 min" in got.text
    await house.db.run(
        lambda tx: tx.execute("update koken.failed_sign_in set at = at - interval '15 min'")
    )
    assert (await beside.post("/sign-in", data=form())).status_code == 303
    count = "select count(*) as left from koken.failed_sign_in"
    (row,) = await house.views.run(lambda tx: tx.fetch_text(count))
    assert row["left"] == 0


async def test_guessing_at_many_names_is_slow_from_one_address(open_house: Any, user: Any) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    for number in range(20):
        got = await http.post("/sign-in", data=form(f"name{number}"))
        assert got.status_code == 401
    assert (await http.post("/sign-in", data=form())).status_code == 429
    elsewhere = httpx.ASGITransport(http._transport.app, client=("192.0.2.9", 1))
    async with httpx.AsyncClient(transport=elsewhere, base_url=http.base_url) as other:
        got = await other.post("/sign-in", data=form(), headers={"X-Forwarded-For": "127.0.0.1"})
        assert got.status_code == 303


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "::ffff:192.0.2.7"),
        ("", ""),
    ],
)
def test_a_network_of_ones_own_counts_as_one_address(address: str, counted: str) -> None:
    assert signins.neighbourhood(address) == counted


async def test_behind_a_trusted_proxy_the_address_that_it_names_counts(
    open_house: Any, user: Any
) -> None:
    house, http = await open_house(web=Web(proxy_trusted=("127.0.0.0/8", "10.0.0.0/8")))
    await user(house, "anna", viewer="*")
    headers = {"X-Forwarded-For": "198.51.100.1, 192.0.2.7, 10.1.1.1"}
    assert (await http.post("/sign-in", data=form(), headers=headers)).status_code == 303
    (session,) = await sessions(house.views, "anna")
    assert session.address == "192.0.2.7"


async def test_many_guesses_at_once_are_still_few(open_house: Any, user: Any) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    got = await asyncio.gather(
        *(http.post("/sign-in", data=form(password=f"guess {number}")) for number in range(15))
    )
    statuses = sorted(each.status_code for each in got)
    assert statuses == [401] * 5 + [429] * 10


async def test_who_signs_in_well_is_not_slowed(open_house: Any, user: Any) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    for _ in range(3):
        for number in range(4):
            await http.post("/sign-in", data=form(password=f"slip {number}"))
        assert (await http.post("/sign-in", data=form())).status_code == 303
