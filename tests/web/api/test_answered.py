"""Writes that are sent twice are carried out once."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any

import httpx
import pytest

from koken.engine import answered, control, tokens
from koken.engine.answered import Keyed, Reply
from koken.errors import InProgress, KeyConflict, OutcomeUnknown
from koken.web.house import House
from tests.support.house import CLOCK
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
        await tx.execute("update koken.token set rights = '{read}'")
    house.credentials.forget()
    assert problem(await house.http.post(url, headers=KEY | robot)) == (403, "forbidden")
    async with house.db.transaction() as tx:
        await tx.execute("update koken.token set rights = '{read,operate}'")
    house.credentials.forget()
    again = await house.http.post(url, headers=KEY | robot)
    assert (again.status_code, again.text) == (201, first.text)


async def test_a_later_token_of_that_name_has_keys_of_its_own(house: House, done: str) -> None:
    for run in ("2", "3"):
        robot = await token(house, "read", "operate")
        got = await house.http.post(f"{RUNS}/{done}/reruns", headers=KEY | robot)
        assert (got.status_code, got.json()["id"]) == (201, run)
        await tokens.revoke(house.db, "robot", by="mira")
        house.credentials.forget()


async def carried_out_by_one_that_died(
    house: House, monkeypatch: pytest.MonkeyPatch, url: str
) -> httpx.Response:
    """Send a write to a process that does not live to keep what it answers."""

    async def lost(*_: Any) -> None:
        """Keep no answer."""

    with monkeypatch.context() as patched:
        patched.setattr(answered, "keep", lost)
        return await house.http.post(url, headers=KEY)


async def at(house: House, time: str) -> None:
    """Have it be that time of the day."""
    async with house.db.transaction() as tx:
        await tx.execute(CLOCK.format(at=f"2026-11-30T{time}Z"))


async def test_what_a_process_wrote_that_died_is_not_carried_out_again(
    house: House, done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{RUNS}/{done}/reruns"
    await at(house, "12:00:00")
    assert (await carried_out_by_one_that_died(house, monkeypatch, url)).status_code == 201
    for time, code, rest in (
        ("12:00:00", "in_progress", "60"),
        ("12:00:40.5", "in_progress", "20"),
        ("12:01:01", "outcome_unknown", None),
        ("23:00:00", "outcome_unknown", None),
    ):
        await at(house, time)
        got = await house.http.post(url, headers=KEY)
        assert problem(got) == (409, code), time
        assert got.headers.get("retry-after") == rest
    assert got.json()["detail"].endswith(
        "It is not carried out again: look what has become of it, then ask for what is still to "
        "be done under a new key"
    )
    assert await count(house, "select count(*) from koken.run") == 2


async def test_what_a_process_began_that_died_before_it_wrote_is_carried_out(
    house: House, done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(*_: Any, **__: Any) -> None:
        """As a process that has ended."""
        raise asyncio.CancelledError

    url = f"{RUNS}/{done}/reruns"
    await at(house, "12:00:00")
    with monkeypatch.context() as patched:
        patched.setattr("koken.engine.repair.repair", dies)
        with pytest.raises(asyncio.CancelledError):
            await house.http.post(url, headers=KEY)
    assert problem(await house.http.post(url, headers=KEY)) == (409, "in_progress")
    await at(house, "12:01:01")
    assert (await house.http.post(url, headers=KEY)).status_code == 201
    assert await count(house, "select count(*) from koken.run") == 2


async def test_one_that_was_given_up_and_goes_on_writes_nothing(house: House, done: str) -> None:
    db = house.db
    slow = await answered.begin(db, "o", "k", b"a")
    async with db.transaction() as tx:
        await tx.execute("update koken.answered set at = koken.now() - interval '61 seconds'")
        (row,) = await tx.fetch_text("select at from koken.answered")
    assert isinstance(slow, Keyed)
    slow = replace(slow, at=row["at"])
    quick = await answered.begin(db, "o", "k", b"a")
    assert isinstance(quick, Keyed)
    with answered.carrying(slow), pytest.raises(InProgress, match="was begun anew"):
        await control.acknowledge(db, int(done), by="mira", reason=None)
    with answered.carrying(quick):
        assert await count(house, "select count(*) from koken.answered where written") == 0
        await control.acknowledge(db, int(done), by="mira", reason=None)
    assert await count(house, "select count(*) from koken.answered where written") == 1


async def test_of_many_at_once_each_writes_once(house: House) -> None:
    """Each is begun, given up and begun anew by others while it writes."""
    things = range(8)
    async with house.db.transaction() as tx:
        await tx.execute("create table written (thing int)")

    async def write(thing: int) -> None:
        try:
            begun = await answered.begin(house.db, "o", f"k-{thing}", b"a")
            assert isinstance(begun, Keyed)
            with answered.carrying(begun):
                async with house.db.transaction() as tx:
                    await tx.execute(f"insert into written values ({thing})")
        except (InProgress, OutcomeUnknown):
            return

    async def give_up() -> None:
        async with house.db.transaction() as tx:
            await tx.execute("update koken.answered set at = at - interval '61 seconds'")

    for _ in range(3):
        wanted = [write(thing) for thing in [*things, *things]]
        await asyncio.gather(*wanted, *(give_up() for _ in range(4)))
    await give_up()
    await asyncio.gather(*map(write, things))
    async with house.db.transaction() as tx:
        rows = await tx.fetch_text("select thing from written order by thing")
    assert [row["thing"] for row in rows] == list(things)


async def test_what_was_given_up_is_taken_over(house: House) -> None:
    db = house.db
    assert isinstance(await answered.begin(db, "o", "k", b"a"), Keyed)
    with pytest.raises(InProgress, match="is being carried out; ask again later"):
        await answered.begin(db, "o", "k", b"a")
    async with db.transaction() as tx:
        await tx.execute("update koken.answered set at = koken.now() - interval '61 seconds'")
    with pytest.raises(KeyConflict, match="belongs to another request"):
        await answered.begin(db, "o", "k", b"b")
    begun = await answered.begin(db, "o", "k", b"a")
    assert isinstance(begun, Keyed)
    await answered.keep(db, begun, Reply(201, "{}", "/x", (("default", "operate"),)))
    kept = await answered.begin(db, "o", "k", b"a")
    assert kept == Reply(201, "{}", "/x", (("default", "operate"),))


async def test_after_a_day_a_key_is_free_again(house: House) -> None:
    db = house.db
    for key in ("old", "new"):
        begun = await answered.begin(db, "o", key, b"a")
        assert isinstance(begun, Keyed)
        await answered.keep(db, begun, Reply(200, "{}", None))
    async with db.transaction() as tx:
        await tx.execute(
            "update koken.answered set at = koken.now() - interval '25 hours' where key = 'old'"
        )
    begun = await answered.begin(db, "o", "old", b"b")
    assert isinstance(begun, Keyed)
    await answered.keep(db, begun, Reply(200, "{}", None))
    async with db.transaction() as tx:
        await tx.execute(
            "update koken.answered set at = koken.now() - interval '25 hours' where key = 'old'"
        )
    await answered.prune(db)
    assert await count(house, "select count(*) from koken.answered") == 1
