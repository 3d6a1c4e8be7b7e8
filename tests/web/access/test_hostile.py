"""What nobody sends by mistake: names, hosts, forms and connections that are made to do harm."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from koken.engine import access, tokens
from koken.errors import InvalidArguments
from koken.model.names import fault, folded
from koken.model.web import Web
from koken.views import doors
from koken.web.access.origin import host_name
from koken.web.console import acts
from tests.web.access.conftest import PASSWORD, csrf, form
from tests.web.access.test_forgery import of_this_machine

DEEP = "[" * 50_000
BOUNDARY = {"Content-Type": "multipart/form-data; boundary=x"}


def elsewhere(http: httpx.AsyncClient, address: str) -> httpx.AsyncClient:
    """Somebody who asks from there."""
    there = httpx.ASGITransport(http._transport.app, client=(address, 1))
    return httpx.AsyncClient(transport=there, base_url=http.base_url)


def test_a_name_is_folded_in_one_way() -> None:
    assert folded("\uff21DMIN") == folded("Admin") == "admin"
    assert folded("STRASSE") == folded("straße")
    assert folded("admİn") != "admin"


@pytest.mark.parametrize(
    "name", ["*", "\uff0a", "", "a b", " a", "a\u202eb", "a\u200bb", "a\0", "\ud800", "x" * 101]
)
async def test_a_name_that_could_be_taken_for_another_is_none(open_house: Any, name: str) -> None:
    house, _ = await open_house()
    assert fault(name) is not None
    for made in (
        access.add_user(house.db, name, "hash", by="test"),
        tokens.make(house.db, name, ["read"], by="test"),
    ):
        with pytest.raises(InvalidArguments) as caught:
            await made
        assert list(caught.value.problems) == ["name"]


async def test_every_spelling_of_a_name_counts_as_that_name(open_house: Any, user: Any) -> None:
    house, http = await open_house()
    await user(house, "admin", viewer="*")
    assert await doors.user(house.views, "admİn") is None
    assert (await http.post("/sign-in", data=form("admİn"))).status_code == 401
    for name in ("admin", "ADMIN", "\uff21dmin", "aDmin", "ADMIn"):
        got = await http.post("/sign-in", data=form(name, "wrong"))
        assert got.status_code == 401
    assert (await http.post("/sign-in", data=form("\uff41dmin"))).status_code == 429


async def test_nobody_locks_somebody_else_out(open_house: Any, user: Any, browser: Any) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    known = await browser(http, "anna")
    proof = await csrf(known)
    guesses = 0
    for place in range(11):
        async with elsewhere(http, f"192.0.2.{place}") as other:
            for _ in range(6):
                status = (await other.post("/sign-in", data=form(password="wrong"))).status_code
                guesses += status == 401
        if place == 0:
            assert guesses == 5
            async with elsewhere(http, "198.51.100.1") as own:
                assert (await own.post("/sign-in", data=form())).status_code == 303
    assert guesses == 50
    async with elsewhere(http, "198.51.100.1") as own:
        assert (await own.post("/sign-in", data=form())).status_code == 429
    assert (await known.post("/sign-in", data=form())).status_code == 303
    fields = {"csrf": proof, "password": "wrong", "new": PASSWORD + "!"}
    other = await known.post("/account/password", data=fields | {"csrf": await csrf(known)})
    assert other.status_code == 403


@pytest.mark.parametrize(
    "header",
    [
        "X-Forwarded-Host", "X-Forwarded", "X-Original-Forwarded-For", "X_Forwarded_For",
        "X-Client-IP", "CF-Connecting-IP", "True-Client-IP", "Via", "Forwarded", "X-Real-IP",
    ],
)  # fmt: skip
async def test_what_came_by_a_proxy_is_not_from_this_machine(
    http: httpx.AsyncClient, header: str
) -> None:
    for path in ("/api/v1/runs", "/metrics"):
        assert (await http.get(path)).status_code == 200
        assert (await http.get(path, headers={header: "x"})).status_code == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example@127.0.0.1", "127.0.0.1/evil", "127.0.0.1?x", "127.0.0.1#x", "127.0.0.1\\x",
        "127.0.0.1:", "127.0.0.1:x", "[::1]x", "[x]", "::1", "127.0.0.1 ", "127.0.0.1,evil",
    ],
)  # fmt: skip
async def test_a_host_is_a_name_and_a_port(http: httpx.AsyncClient, host: str) -> None:
    assert host_name(host) == ""
    got = await http.get("/api/v1/runs", headers={"Host": host})
    assert got.status_code == 421


async def test_two_hosts_are_none(http: httpx.AsyncClient) -> None:
    both = [("Host", "127.0.0.1"), ("Host", "evil.example")]
    assert (await http.get("/api/v1/runs", headers=both)).status_code == 421


async def test_an_own_page_has_the_scheme_under_which_it_came(http: httpx.AsyncClient) -> None:
    for origin, status in (("https://127.0.0.1:7070", 403), ("http://127.0.0.1:7070", 201)):
        headers = {"Origin": origin}
        got = await http.post("/api/v1/runs", headers=headers, json={"job": "greet"})
        assert got.status_code == status


async def test_json_that_is_too_deep_is_told_of(house: Any, http: httpx.AsyncClient) -> None:
    run = (await http.post("/api/v1/runs", json={"job": "greet"})).json()["id"]
    proof = await of_this_machine(house)
    with pytest.raises(InvalidArguments, match="recursion limit"):
        acts.value(DEEP, "the result")
    for given in ({"args": DEEP}, {"args": "[" * 600 + "]" * 600}):
        got = await http.post(f"/runs/{run}/retry", data={"csrf": proof, **given})
        assert got.status_code in (409, 422), got.text
        asked = {"args": given["args"][:20_000]}
        got = await http.get(f"/runs/{run}/plan/retry", params=asked)
        assert got.status_code == 200, got.text
    assert (await http.get("/runs", params={"q": f"args.day:{DEEP[:1500]}"})).status_code == 200
    got = await http.post("/jobs/greet/start", data={"csrf": proof, "json": DEEP})
    assert got.status_code < 500


@pytest.mark.parametrize("path", ["/sign-in", "/account/password", "/access/users"])
async def test_a_form_that_cannot_be_read_is_refused(
    open_house: Any, user: Any, browser: Any, path: str
) -> None:
    house, http = await open_house()
    await user(house, "anna", admin="*")
    anna = await browser(http, "anna")
    part = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
    plain = {"Content-Type": "application/x-www-form-urlencoded"}
    for headers, body in (
        (plain, b"a=1&" * 5000),
        (BOUNDARY, part * 2000 + b"--x--\r\n"),
        (BOUNDARY, b"--y\r\n\r\n"),
        ({"Content-Type": "multipart/form-data"}, b"--x"),
        ({"Content-Type": "multipart/form-data; boundary=x; charset=zlib"}, part + b"--x--\r\n"),
    ):
        got = await anna.post(path, headers=headers, content=body)
        assert got.status_code in ((400, 401) if path == "/sign-in" else (400, 403)), body[:60]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/access/users", "place"),
        ("/access/tokens/revoke", "token"),
        ("/access/sessions/end", "user"),
        ("/locks/unlock", "key"),
        ("/queues/default/pause", "reason"),
        ("/jobs/greet/pause", "reason"),
    ],
)
async def test_a_text_that_cannot_be_kept_is_refused(
    house: Any, http: httpx.AsyncClient, path: str, field: str
) -> None:
    await http.post("/api/v1/runs", json={"job": "greet"})
    given = dict.fromkeys(("name", "role", "place", "token", "user", "session", "key"), "x")
    given |= {
        "kind": "lock",
        "csrf": await of_this_machine(house),
        "password": PASSWORD,
        "role": "viewer",
    }
    got = await http.post(path, data=given | {field: "nope\0"})
    assert got.status_code == 422, got.text
    assert "has an error" not in got.text


async def test_an_error_page_asks_for_no_form(
    open_house: Any, user: Any, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, http = await open_house()
    await user(house, "anna", admin="*")
    anna = await browser(http, "anna")
    transport = httpx.ASGITransport(
        http._transport.app, client=("127.0.0.1", 1), raise_app_exceptions=False
    )

    async def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("koken.engine.signins.try_sign_in", broken)
    async with httpx.AsyncClient(
        transport=transport, base_url=http.base_url, cookies=anna.cookies
    ) as again:
        got = await again.post("/sign-in", data=form())
    assert (got.status_code, "It is written down in the log" in got.text) == (500, True)


async def test_a_trusted_name_comes_once_and_under_its_own_header(open_house: Any) -> None:
    web = Web(
        proxy_header="X-Remote-User",
        proxy_trusted=("127.0.0.1/32",),
        roles={"anna": {"*": "admin"}},
    )
    _, http = await open_house(web=web)
    for headers, status in (
        ([("X-Remote-User", "anna")], 200),
        ([("X-Remote-User", "anna"), ("X-Remote-User", "anna")], 401),
        ([("X_Remote_User", "anna")], 401),
        ([("X-Remote-User", "eve"), ("X_Remote_User", "anna")], 403),
    ):
        got = await http.get("/api/v1/runs", headers=headers)
        assert (headers, got.status_code) == (headers, status)


async def test_others_are_answered_while_many_wait_for_the_database(
    open_house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, http = await open_house()
    gate = asyncio.Event()

    async def slow() -> None:
        async with house.views.session():
            await gate.wait()

    waiting = [asyncio.ensure_future(slow()) for _ in range(40)]
    assert (await http.get("/health")).status_code == 200
    gate.set()
    await asyncio.gather(*waiting)
    assert (await http.get("/api/v1/runs")).status_code == 200
