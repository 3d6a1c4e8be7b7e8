"""Pages of other sites that a browser has open, and what they get sent in its person's name."""

from __future__ import annotations

from typing import Any

import httpx

from koken.model.web import Web
from koken.views.access import sessions
from koken.web.access import seals
from koken.web.access.principal import Kind, Principal
from tests.web.access.conftest import csrf

OURS = "http://127.0.0.1:7070"
HERE = {"Origin": OURS}
FOREIGN: list[dict[str, str]] = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://127.0.0.1:7071"},
    {"Origin": "http://localhost:7070"},
    {"Origin": OURS, "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]
JSON = {"Content-Type": "application/json"}


async def of_this_machine(house: Any) -> str:
    """What forms bring back while nobody has credentials."""
    principal = Principal(name=house.local, kind=Kind.LOCAL)
    return seals.csrf(await house.credentials.key(), principal)


async def test_no_page_of_another_site_writes_even_without_credentials(
    house: Any, http: httpx.AsyncClient
) -> None:
    proof = await of_this_machine(house)
    for headers in FOREIGN:
        got = await http.post("/api/v1/runs", headers=headers, json={"job": "greet"})
        assert (got.status_code, got.json()["code"]) == (403, "forbidden"), headers
        for path in ("/account/sessions", "/sign-out"):
            got = await http.post(path, headers=headers, data={"csrf": proof})
            assert got.status_code == 403, (path, headers)
    assert (await http.get("/api/v1/runs")).json()["items"] == []


async def test_the_api_takes_only_what_no_form_of_another_site_can_send(
    house: Any, http: httpx.AsyncClient
) -> None:
    body = b'{"job": "greet"}'
    for media in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/json",
        "application/x+json, text/plain",
    ):
        got = await http.post("/api/v1/runs", headers={"Content-Type": media}, content=body)
        assert (got.status_code, got.json()["code"]) == (415, "wrong_media_type"), media
        assert "Content-Type: application/json" in got.json()["detail"]
    proof = await of_this_machine(house)
    got = await http.post("/api/v1/runs", headers=JSON | {"Koken-Csrf": "0" * 64}, content=body)
    assert got.status_code == 403
    for headers in (JSON, JSON | HERE, JSON | HERE | {"Koken-Csrf": proof}):
        got = await http.post("/api/v1/runs", headers=headers, content=body)
        assert got.status_code < 300, got.text
    assert len((await http.get("/api/v1/runs")).json()["items"]) == 3


async def test_events_in_json_are_json(http: httpx.AsyncClient) -> None:
    """As CloudEvents are: a browser asks before it sends such a thing to another site."""
    assert (await http.post("/api/v1/runs", json={"job": "greet"})).status_code == 201
    media = {"Content-Type": "application/cloudevents+json; charset=utf-8"}
    event = b'{"specversion": "1.0", "id": "1", "source": "test", "type": "greet", "data": {}}'
    got = await http.post("/api/v1/requests", headers=media, content=event)
    assert got.status_code == 202, got.text
    got = await http.post("/api/v1/requests", headers=media | FOREIGN[0], content=event)
    assert got.status_code == 403


async def test_a_form_brings_back_what_only_its_own_person_knows(
    open_house: Any, user: Any, browser: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", admin="*")
    await user(house, "ben", admin="*")
    anna, other, ben = [await browser(http, name) for name in ("anna", "anna", "ben")]
    own, elsewhere, bens = [await csrf(each) for each in (anna, other, ben)]
    assert len({own, elsewhere, bens}) == 3
    for given in ("", "0" * 64, own[:-1], own.upper(), bens, elsewhere, "•"):
        got = await anna.post("/account/sessions", headers=HERE, data={"csrf": given})
        assert (given, got.status_code) == (given, 403)
    assert (await anna.post("/account/sessions", headers=HERE)).status_code == 403
    assert len(await sessions(house.views, "anna")) == 2
    got = await anna.post("/account/sessions", headers=HERE, data={"csrf": own})
    assert (got.status_code, len(await sessions(house.views, "anna"))) == (303, 1)
    assert (await other.get("/account")).status_code == 303
    assert (await ben.get("/account")).status_code == 200


async def test_proof_may_come_in_a_header_or_in_a_form_with_parts(
    open_house: Any, user: Any, browser: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", admin="*")
    anna = await browser(http, "anna")
    proof = await csrf(anna)
    got = await anna.post("/account/sessions", headers={"Koken-Csrf": proof})
    assert got.status_code == 303
    parts = {"csrf": (None, proof), "more": (None, "x")}
    assert (await anna.post("/account/sessions", files=parts)).status_code == 303
    as_file = {"csrf": ("name", proof)}
    assert (await anna.post("/account/sessions", files=as_file)).status_code == 400


async def test_a_session_writes_by_the_api_only_from_our_own_pages(
    open_house: Any, user: Any, browser: Any, token: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", operator="*")
    anna = await browser(http, "anna")
    start = {"job": "greet"}
    for headers in FOREIGN:
        assert (await anna.post("/api/v1/runs", headers=headers, json=start)).status_code == 403
    assert (await anna.post("/api/v1/runs", headers=HERE, json=start)).status_code < 300
    bearer = await token(house, "start")
    got = await http.post("/api/v1/runs", headers=bearer | FOREIGN[0], json=start)
    assert got.status_code < 300


async def test_behind_https_only_https_pages_are_ours(open_house: Any, user: Any) -> None:
    house, http = await open_house(web=Web(url="https://koken.example"))
    await user(house, "anna", operator="*")
    form = {"name": "anna", "password": "tulips in spring"}
    for origin, status in (
        ("https://koken.example", 303),
        ("http://koken.example", 403),
        ("https://koken.example.evil.example", 403),
    ):
        headers = {"Host": "koken.example", "Origin": origin}
        got = await http.post("/sign-in", headers=headers, data=form)
        assert (origin, got.status_code) == (origin, status)


async def test_every_answer_is_protected(http: httpx.AsyncClient) -> None:
    for path, kept in (
        ("/account", "no-store"),
        ("/sign-in", "no-store"),
        ("/nothing", "no-store"),
        ("/api/v1/runs", "no-store"),
        ("/api/v1/nothing", "no-store"),
        ("/static/koken.css", None),
    ):
        got = await http.get(path)
        headers = got.headers
        assert headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
            "frame-ancestors 'none'"
        ), path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers.get("cache-control") == kept, path
        assert "strict-transport-security" not in headers
    got = await http.get("/", headers={"Host": "rebound.example"})
    assert got.headers["x-content-type-options"] == "nosniff"


async def test_https_is_kept_to(open_house: Any, user: Any) -> None:
    house, http = await open_house(web=Web(url="https://koken.example"))
    await user(house, "anna", operator="*")
    got = await http.post("/sign-in", data={"name": "anna", "password": "tulips in spring"})
    assert got.headers["strict-transport-security"] == "max-age=31536000"
    assert "Secure" in got.headers["set-cookie"]


async def test_a_body_without_end_is_not_read_to_its_end(http: httpx.AsyncClient) -> None:
    read = 0

    async def endless() -> Any:
        nonlocal read
        for _ in range(100):
            read += 1
            yield b"name=" + b"a" * 100_000

    got = await http.post(
        "/account/sessions",
        content=endless(),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert (got.status_code, read < 30) == (413, True)
