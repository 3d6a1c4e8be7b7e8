"""Whatever is refused has one shape."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from markupsafe import escape

from koken.errors import DatabaseUnreachable, TooMany
from koken.model.web import Web
from koken.store.database import Database
from koken.views import locks, runs
from koken.web.faults import FAULTS
from koken.web.house import House
from tests.web.api.test_hooks import call, opened, signed
from tests.web.api.yard import problem

RUNS = "/api/v1/runs"
ROOT = Path(__file__).parents[3]


async def test_a_problem_in_full(open_house: Callable[..., Any]) -> None:
    _, http = await open_house(web=Web(url="https://koken.example"))
    got = await http.get(f"{RUNS}/412")
    assert got.headers["content-type"] == "application/problem+json"
    assert got.json() == {
        "type": "https://koken.example/errors/not_found",
        "title": "There is no such thing",
        "status": 404,
        "code": "not_found",
        "detail": "there is no run 412 here",
        "instance": "/api/v1/runs/412",
    }


async def test_the_routers_own_refusals(http: httpx.AsyncClient) -> None:
    got = await http.get("/api/v1/nothing")
    assert (problem(got), got.json()["type"]) == ((404, "not_found"), "/errors/not_found")
    got = await http.request("DELETE", RUNS)
    assert (problem(got), got.headers["allow"]) == ((405, "method_not_allowed"), "GET, POST")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (RUNS, b"{", 400),
        (RUNS, b"\xff\xfe", 400),
        (RUNS, b"", 400),
        (RUNS, b"[" * 100_000, 400),
        (RUNS, b'{"job": "greet", "args": {"name": NaN}}', 400),
        (RUNS, b'{"job": "greet", "args": {"name": "\\ud800"}}', 400),
        (RUNS, b'{"job": "greet", "args": {"name": "\\u0000"}}', 422),
        (RUNS, b'{"job": "gr\\u0000eet"}', 422),
        (RUNS, b'{"job": "greet", "delay": 1e308}', 422),
        (RUNS, b'{"job": "greet", "priority": ' + b"9" * 400 + b"}", 422),
        (RUNS, b"[]", 422),
        (f"{RUNS}/1/retries", b"{", 400),
        (f"{RUNS}/1/retries", b"[" * 100_000, 400),
        (f"{RUNS}/1/retries", b'{"reason": "\\ud800"}', 422),
        (f"{RUNS}/1/retries", b'{"reason": "\\u0000"}', 422),
        (f"{RUNS}/1/retries", b'{"args": {"a": ' + b"9" * 5000 + b"}}", 400),
        (f"{RUNS}/1/retries", b'{"force": "yes"}', 422),
        (f"{RUNS}/1/marks", b'{"step": "a", "code": true}', 422),
        ("/api/v1/bulks", b'{"verb": "x", "q": "job:a", "reason": "r"}', 422),
    ],
)
async def test_bodies_that_cannot_be(
    http: httpx.AsyncClient, path: str, body: bytes, status: int
) -> None:
    await http.post(RUNS, json={"job": "broken"})
    got = await http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert problem(got) == (status, "malformed" if status == 400 else "invalid_arguments")


async def test_a_body_of_another_kind(house: House) -> None:
    http: httpx.AsyncClient = house.http
    got = await http.post(RUNS, content=b"job=greet", headers={"Content-Type": "text/plain"})
    assert problem(got) == (415, "wrong_media_type")


async def test_a_body_that_is_too_large_is_not_read_on(http: httpx.AsyncClient) -> None:
    taken = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal taken
        yield b'{"job": "'
        for _ in range(100):
            taken += 1
            yield b"x" * 100_000

    got = await http.post(RUNS, content=chunks(), headers={"Content-Type": "application/json"})
    assert (problem(got), got.headers["connection"]) == ((413, "too_large"), "close")
    assert taken < 30
    got = await http.post(RUNS, content=b" " * (1024 * 1024 + 1))
    assert problem(got) == (413, "too_large")


async def test_what_nobody_foresaw_is_told_by_a_number(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("secret innards")

    monkeypatch.setattr(runs, "find", fail)
    with caplog.at_level(logging.ERROR, "koken.web"):
        got = await http.get(RUNS)
    assert problem(got) == (500, "internal")
    assert "innards" not in got.text
    assert got.json()["id"] in caplog.text
    assert "ZeroDivisionError: secret innards" in caplog.text


async def test_an_error_of_our_own_statements_is_told_by_a_number(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(db: Database, *_: Any, **__: Any) -> None:
        async with db.transaction() as tx:
            await tx.fetch_text("insert into koken.job (workspace_id, name) values (2, 'x')")

    monkeypatch.setattr(runs, "find", fail)
    monkeypatch.setattr(locks, "locks", fail)
    for path in (RUNS, "/locks"):
        caplog.clear()
        got = await http.get(path)
        assert (path, got.status_code) == (path, 500)
        assert "null value" not in got.text
        (line,) = [each for each in caplog.records if each.name == "koken.web"]
        assert (line.levelno, "null value in column" in caplog.text) == (logging.ERROR, True)


async def test_a_value_that_cannot_be_read_is_logged(
    http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    assert problem(await http.get("/api/v1/locks/%00")) == (422, "invalid_arguments")
    (line,) = [each for each in caplog.records if each.name == "koken.web"]
    assert line.getMessage() == "GET '/api/v1/locks/\\x00': a value was refused (22021)"


async def test_who_stands_in_the_way_of_a_hook_is_not_told(
    open_house: Callable[..., Any],
) -> None:
    _, http, key = await opened(open_house)
    assert (await call(http, signed(key))).status_code == 202
    other = b'{"ship":"eve"}'
    for more in ({"Koken-Workspace": "nosuch"}, {"Authorization": "Bearer koken_none"}):
        got = await call(http, signed(key, other) | more, other)
        assert (problem(got), got.json()["held_by"]) == ((409, "key_conflict"), None)


async def test_to_wait_is_told(http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise TooMany("slowly", after=2.5)

    monkeypatch.setattr(runs, "find", fail)
    got = await http.get(RUNS)
    assert (problem(got), got.headers["retry-after"]) == ((429, "too_many"), "3")
    assert got.json()["after"] == 2.5


async def test_a_database_that_is_away(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise DatabaseUnreachable("PostgreSQL does not answer: password for secret@10.0.0.7")

    monkeypatch.setattr(runs, "find", fail)
    got = await http.get(RUNS)
    assert problem(got) == (503, "database_unreachable")
    assert "10.0.0.7" not in got.text


async def test_every_route_is_described_once(http: httpx.AsyncClient) -> None:
    paths = (await http.get("/api/v1/openapi.json")).json()["paths"]
    routes = [each for path in paths.values() for each in path.values()]
    names = [each["operationId"] for each in routes]
    assert sorted(names) == sorted(set(names))
    assert all(each["summary"] and each["tags"] for each in routes)
    answers = paths["/runs"]["post"]["responses"]
    assert {"200", "201", "400", "401", "403", "404", "409", "413", "415", "422", "429", "503"} <= (
        set(answers)
    )
    assert list(answers["422"]["content"]) == ["application/problem+json"]


def test_the_table_of_the_documentation_has_every_code() -> None:
    text = (ROOT / "docs/reference/http-api.md").read_text()
    table = text.partition("| status | code | members |")[2].partition("\n\n")[0]
    told = {
        code: int(status)
        for status, codes in re.findall(r"^\| (\d+) \| (.*?) \|", table, re.MULTILINE)
        for code in re.findall(r"`(\w+)`", codes)
    }
    assert told == {code: fault.status for code, fault in FAULTS.items()}


async def test_where_a_problem_leads_anybody_may_read(open_house: Callable[..., Any]) -> None:
    _, http = await open_house(loopback=False)
    for code, fault in FAULTS.items():
        got = await http.get(f"/errors/{code}")
        assert got.status_code == 200, code
        for text in (code, str(fault.status), fault.title, fault.meaning, fault.remedy):
            assert str(escape(text)) in got.text, code
    assert (await http.get("/errors/no_such_code")).status_code == 404
    led = (await http.get(f"{RUNS}/412")).json()["type"]
    assert (await http.get(led)).status_code == 200


async def test_a_name_that_is_not_ours_is_a_problem_as_any_other(
    open_house: Callable[..., Any],
) -> None:
    _, http = await open_house(web=Web(url="https://koken.example"))
    got = await http.get(RUNS, headers={"Host": "rebound.example"})
    assert problem(got) == (421, "misdirected")
    plain = got.json()
    assert sorted(plain) == ["code", "detail", "instance", "status", "title", "type"]
    assert (plain["type"], plain["instance"]) == (
        "https://koken.example/errors/misdirected",
        RUNS,
    )


async def test_every_status_of_a_problem_is_described(http: httpx.AsyncClient) -> None:
    paths = (await http.get("/api/v1/openapi.json")).json()["paths"]
    answers = set(paths["/runs"]["post"]["responses"])
    assert {str(fault.status) for fault in FAULTS.values()} <= answers


def test_nothing_private_of_the_frameworks_is_used() -> None:
    private = re.compile(r"^\s*(?:from|import) (?:starlette|fastapi)\S*\._", re.MULTILINE)
    found = [path for path in (ROOT / "src").rglob("*.py") if private.search(path.read_text())]
    assert found == []
