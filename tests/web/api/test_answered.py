"""Writes that are sent twice are carried out once."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import httpx
import pytest

from koken.engine import accesstokens, answered
from koken.engine.answered import Answer
from koken.errors import InProgress, KeyConflict
from koken.web.house import House
from tests.web.api.yard import problem, start, token

RUNS = "/api/v1/runs"
KEY = {"Idempotency-Key": "k-1"}


async def count(house: House, text: str) -> int:
    """The number that a statement gives."""
    async with house.db.transaction() as tx:
        (row,) = await tx.fetch_text(text)
    return int(row[0])


@pytest.fixture
async def done(house: House) -> str:
    """A run that was cancelled."""
    run = await start(house.http, "greet")
    await house.http.post(f"{RUNS}/{run}/cancellations")
    return run


async def test_the_same_request_gets_the_same_answer(house: House, done: str) -> None:
    http: httpx.AsyncClient = house.http
    sent: dict[str, Any] = {"json": {"reason": "again"}, "headers": KEY}
    first = await http.post(f"{RUNS}/{done}/reruns", **sent)
    again = await http.post(f"{RUNS}/{done}/reruns", **sent)
    assert (first.status_code, again.status_code) == (201, 201)
    assert (again.text, again.headers["location"]) == (first.text, first.headers["location"])
    assert ("idempotency-replayed" in first.headers, again.headers["idempotency-replayed"]) == (
        False,
        "true",
    )
    assert await count(house, "select count(*) from koken.run") == 2
    for path, body in ((f"{done}/reruns", {}), ("2/cancellations", {"reason": "again"})):
        other = await http.post(f"{RUNS}/{path}", json=body, headers=KEY)
        assert problem(other) == (409, "key_conflict"), path


async def test_a_key_is_promised_where_it_is_looked_at(house: House) -> None:
    paths = (await house.http.get("/api/v1/openapi.json")).json()["paths"]
    described = {
        f"{method} {path}": each["schema"]["pattern"]
        for path, operations in paths.items()
        for method, operation in operations.items()
        for each in operation["parameters"]
        if each["name"] == "Idempotency-Key"
    }
    writes = {
        f"{method} {path}" for path, each in paths.items() for method in each if method != "get"
    }
    assert writes - set(described) == {
        "post /hooks",
        "post /hooks/{hook}",
        "post /hooks/{hook}/rotations",
        "post /tokens",
        "post /users",
        "post /users/{user}/passwords",
    }
    assert len(set(described.values())) == 1
    pattern = re.compile(described["post /runs"])
    for key in ("k", "a b", "~" * 255, "", " ", "x" * 256, "ä", "\tk"):
        body = {"job": "greet"}
        got = await house.http.post(
            RUNS, json=body, headers=[(b"Idempotency-Key", key.encode("latin-1"))]
        )
        assert (got.status_code < 300) is (pattern.search(key) is not None), key


async def test_at_the_same_moment_one_is_carried_out(house: House, done: str) -> None:
    http: httpx.AsyncClient = house.http
    found = await asyncio.gather(
        *(http.post(f"{RUNS}/{done}/reruns", headers=KEY) for _ in range(6))
    )
    assert {each.status_code for each in found} <= {201, 409}
    assert len({each.json()["id"] for each in found if each.status_code == 201}) == 1
    assert await count(house, "select count(*) from koken.run") == 2


async def test_what_was_refused_may_be_sent_again(house: House, done: str) -> None:
    http: httpx.AsyncClient = house.http
    for body, status in (({"fro": 1}, 422), ({"args": {"nam": "x"}}, 422), ({}, 200)):
        got = await http.post(f"{RUNS}/{done}/retries", json=body, headers=KEY)
        assert got.status_code == status, body


async def test_a_key_is_of_who_sends_it(house: House, done: str) -> None:
    robot = await token(house, "read", "operate")
    other = await token(house, "read", "operate", name="other")
    for headers in (robot, other, robot):
        got = await house.http.post(f"{RUNS}/{done}/reruns", headers=KEY | headers)
        assert got.status_code == 201
    assert await count(house, "select count(*) from koken.run") == 3


async def test_who_has_lost_the_right_gets_no_kept_answer(house: House, done: str) -> None:
    robot = await token(house, "read", "operate")
    url = f"{RUNS}/{done}/reruns"
    first = await house.http.post(url, headers=KEY | robot)
    async with house.db.transaction() as tx:
        await tx.execute("update koken.token set scopes = '{read}'")
    house.credentials.forget()
    assert problem(await house.http.post(url, headers=KEY | robot)) == (403, "forbidden")
    async with house.db.transaction() as tx:
        await tx.execute("update koken.token set scopes = '{read,operate}'")
    house.credentials.forget()
    again = await house.http.post(url, headers=KEY | robot)
    assert (again.status_code, again.text) == (201, first.text)


async def test_a_later_token_of_that_name_has_keys_of_its_own(house: House, done: str) -> None:
    for run in ("2", "3"):
        robot = await token(house, "read", "operate")
        got = await house.http.post(f"{RUNS}/{done}/reruns", headers=KEY | robot)
        assert (got.status_code, got.json()["id"]) == (201, run)
        await accesstokens.revoke(house.db, "robot", by="mira")
        house.credentials.forget()


async def test_while_it_is_carried_out_one_is_told_when_to_ask_again(
    house: House, done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: Any) -> None:
        """Keep no answer, as a process that has ended."""

    monkeypatch.setattr(answered, "keep", lost)
    url = f"{RUNS}/{done}/reruns"
    assert (await house.http.post(url, headers=KEY)).status_code == 201
    got = await house.http.post(url, headers=KEY)
    assert (problem(got), got.headers["retry-after"]) == ((409, "in_progress"), "1")


async def test_what_was_given_up_is_taken_over(house: House) -> None:
    db = house.db
    assert await answered.begin(db, "o", "k", b"a") is None
    with pytest.raises(InProgress, match="is being carried out; ask again later"):
        await answered.begin(db, "o", "k", b"a")
    async with db.transaction() as tx:
        await tx.execute("update koken.answered set at = koken.now() - interval '61 seconds'")
    with pytest.raises(KeyConflict, match="belongs to another request"):
        await answered.begin(db, "o", "k", b"b")
    assert await answered.begin(db, "o", "k", b"a") is None
    await answered.keep(db, "o", "k", b"a", Answer(201, "{}", "/x", (("default", "operate"),)))
    kept = await answered.begin(db, "o", "k", b"a")
    assert kept == Answer(201, "{}", "/x", (("default", "operate"),))


async def test_after_a_day_a_key_is_free_again(house: House) -> None:
    db = house.db
    for key in ("old", "new"):
        assert await answered.begin(db, "o", key, b"a") is None
        await answered.keep(db, "o", key, b"a", Answer(200, "{}", None))
    async with db.transaction() as tx:
        await tx.execute(
            "update koken.answered set at = koken.now() - interval '25 hours' where key = 'old'"
        )
    assert await answered.begin(db, "o", "old", b"b") is None
    await answered.keep(db, "o", "old", b"b", Answer(200, "{}", None))
    async with db.transaction() as tx:
        await tx.execute(
            "update koken.answered set at = koken.now() - interval '25 hours' where key = 'old'"
        )
    await answered.prune(db)
    assert await count(house, "select count(*) from koken.answered") == 1
