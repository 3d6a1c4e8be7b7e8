"""Signed calls of other systems."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import koken
from koken.web.house import House
from tests.web.api.yard import open_yard, problem, token

OpenHouse = Callable[..., Any]
BODY = b'{"ship":"grace","colour":"red"}'


async def opened(open_house: OpenHouse, **hook: Any) -> tuple[House, httpx.AsyncClient, str]:
    """The doors with a hook, and its secret."""
    house, http = await open_yard(open_house)
    got = await http.post("/api/v1/hooks", json={"name": "ships", "job": "lift", **hook})
    assert got.status_code == 201, got.text
    return house, http, got.json()["secret"]


def signed(
    secret: str, body: bytes = BODY, *, number: str = "msg_1", at: float | None = None
) -> dict[str, str]:
    """The headers of a call in the way of Standard Webhooks."""
    stamp = str(int(time.time() if at is None else at))
    key = b64decode(secret.removeprefix("whsec_"))
    found = hmac.new(key, f"{number}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": number,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{b64encode(found).decode()}",
        "content-type": "application/json",
    }


async def call(
    http: httpx.AsyncClient, headers: dict[str, str], body: bytes = BODY, name: str = "ships"
) -> httpx.Response:
    """A call of a hook."""
    return await http.post(f"/api/v1/hooks/{name}", content=body, headers=headers)


async def count(house: House) -> int:
    """How many runs there are."""
    async with house.db.transaction() as tx:
        return int((await tx.fetch_text("select count(*) as n from koken.run"))[0]["n"])


async def test_a_signed_call_starts_the_job_with_the_fields_that_it_has(
    open_house: OpenHouse,
) -> None:
    house, http, secret = await opened(open_house)
    assert secret.startswith("whsec_")
    rotated = (await http.post("/api/v1/hooks/ships/rotations")).json()
    secret = rotated.pop("secret")
    assert rotated == {"name": "ships", "url": "http://127.0.0.1:7070/api/v1/hooks/ships"}
    got = await call(http, signed(secret))
    assert got.status_code == 202
    assert got.json() == {"run": "1", "existing": False, "url": "http://127.0.0.1:7070/runs/1"}
    run = (await http.get("/api/v1/runs/1")).json()
    assert (run["job"], run["args"], run["trigger"]["by"]) == (
        "lift",
        {"ship": "grace"},
        "hook ships",
    )
    await house.credentials.settle()
    (row,) = (await http.get("/api/v1/hooks")).json()["items"]
    assert row["last_used_at"] is not None
    assert "secret" not in row
    assert "salt" not in row


async def test_one_of_several_signatures_is_enough(open_house: OpenHouse) -> None:
    _, http, secret = await opened(open_house)
    headers = signed(secret)
    headers["webhook-signature"] = f"v1,AAAA v2,x {headers['webhook-signature']} v1a,zzz"
    assert (await call(http, headers)).status_code == 202


async def test_a_call_that_comes_again_starts_nothing_new(open_house: OpenHouse) -> None:
    house, http, secret = await opened(open_house)
    headers = signed(secret)
    answers = await asyncio.gather(*(call(http, headers) for _ in range(8)))
    assert {got.status_code for got in answers} == {202}
    assert {got.json()["run"] for got in answers} == {answers[0].json()["run"]}
    assert [got.json()["existing"] for got in answers].count(False) == 1
    assert await count(house) == 1
    later = await call(http, signed(secret, at=time.time() - 200))
    assert later.json()["existing"] is True
    other = b'{"ship":"eve"}'
    got = await call(http, signed(secret, other), other)
    assert problem(got) == (409, "key_conflict")


FORGED: tuple[tuple[str, str | None], ...] = (
    ("webhook-id", None),
    ("webhook-timestamp", None),
    ("webhook-signature", None),
    ("webhook-id", "msg_2"),
    ("webhook-timestamp", "1"),
    ("webhook-timestamp", "9" * 30),
    ("webhook-signature", "v1,"),
    ("webhook-signature", "v1,not base64 at all"),
    ("webhook-signature", "v1,AAAA"),
    ("webhook-signature", "v2,{}"),
)


async def test_a_call_that_is_not_signed_is_refused_as_one_of_no_hook(
    open_house: OpenHouse,
) -> None:
    house, http, secret = await opened(open_house)
    unknown = await call(http, signed(secret), name="planes")
    assert problem(unknown) == (401, "not_signed_in")
    for name, value in FORGED:
        headers = signed(secret)
        proof = headers.pop(name)
        if value is not None:
            headers[name] = value.format(proof.removeprefix("v1,"))
        got = await call(http, headers)
        assert {**got.json(), "instance": ""} == {**unknown.json(), "instance": ""}, (name, value)
    assert await count(house) == 0


async def test_another_body_or_secret_is_refused(open_house: OpenHouse) -> None:
    house, http, secret = await opened(open_house)
    assert problem(await call(http, signed(secret), BODY + b" ")) == (401, "not_signed_in")
    other = "whsec_" + b64encode(b"x" * 32).decode()
    assert problem(await call(http, signed(other))) == (401, "not_signed_in")
    assert await count(house) == 0


async def test_a_call_of_another_time_is_refused_and_told_why(open_house: OpenHouse) -> None:
    _, http, secret = await opened(open_house)
    for off in (-301, 302):
        got = await call(http, signed(secret, at=time.time() + off))
        assert problem(got) == (401, "not_signed_in")
        assert got.json()["detail"] == "its time is more than five minutes off"


async def test_refusals_are_logged_once_a_minute(
    open_house: OpenHouse, caplog: pytest.LogCaptureFixture
) -> None:
    _, http, _ = await opened(open_house)
    with caplog.at_level(logging.WARNING, logger="koken.web"):
        for name in ("ships", "ships", "planes", "boats"):
            await call(http, {}, name=name)
    told = [record.getMessage() for record in caplog.records if record.name == "koken.web"]
    assert told == [
        "a call to hook ships was refused: the signature does not fit; more of it in a minute",
        "a call to an unknown hook was refused: the signature does not fit; more of it in a minute",
    ]


UNFIT = {b"no json": 400, b"": 400, b"[1]": 422, b'{"ship": 7}': 422, b"NaN": 400}


async def test_bodies_that_do_not_fit(open_house: OpenHouse) -> None:
    house, http, secret = await opened(open_house)
    for body, status in UNFIT.items():
        got = await call(http, signed(secret, body), body)
        assert got.status_code == status, (body, got.text)
    assert await count(house) == 0


async def test_the_whole_body_as_one_argument(open_house: OpenHouse) -> None:
    _, http, secret = await opened(open_house, job="one", argument="payload")
    assert (await call(http, signed(secret))).status_code == 202
    run = (await http.get("/api/v1/runs/1")).json()
    assert run["args"] == {"payload": {"ship": "grace", "colour": "red"}}


async def test_calls_of_github(open_house: OpenHouse) -> None:
    house, http, secret = await opened(open_house, scheme="github")

    def headers(body: bytes, number: str = "d-1", **more: str) -> dict[str, str]:
        found = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        return {"X-Hub-Signature-256": f"sha256={found}", "X-GitHub-Delivery": number, **more}

    assert (await call(http, headers(BODY, **{"X-GitHub-Event": "ping"}))).status_code == 204
    assert await count(house) == 0
    first, second = [await call(http, headers(BODY)) for _ in range(2)]
    assert (first.json()["run"], second.json()["existing"]) == (second.json()["run"], True)
    assert (await call(http, headers(BODY, "d-2"))).json()["existing"] is False
    without = headers(BODY)
    del without["X-GitHub-Delivery"]
    for wrong in (
        without,
        headers(BODY + b" "),
        {**headers(BODY), "X-Hub-Signature-256": "sha256="},
    ):
        assert problem(await call(http, wrong)) == (401, "not_signed_in")
    assert await count(house) == 2


async def test_a_new_secret_ends_the_old_one_and_removal_ends_both(open_house: OpenHouse) -> None:
    house, http, old = await opened(open_house)
    new = (await http.post("/api/v1/hooks/ships/rotations", json={"reason": "leak"})).json()[
        "secret"
    ]
    assert new != old
    assert problem(await call(http, signed(old))) == (401, "not_signed_in")
    assert (await call(http, signed(new))).status_code == 202
    assert (await http.delete("/api/v1/hooks/ships?reason=moved")).status_code == 204
    assert problem(await call(http, signed(new, number="msg_2"))) == (401, "not_signed_in")
    assert problem(await http.post("/api/v1/hooks/ships/rotations")) == (404, "not_found")
    got = await http.post("/api/v1/hooks", json={"name": "ships", "job": "lift"})
    again = got.json()["secret"]
    assert again not in (old, new)
    events = (await http.get("/api/v1/events?q=by:mira")).json()["items"]
    assert [(row["verb"], row["reason"], row["detail"]["hook"]) for row in events] == [
        ("add hook", None, "ships"),
        ("remove hook", "moved", "ships"),
        ("rotate hook", "leak", "ships"),
        ("add hook", None, "ships"),
    ]
    async with house.db.transaction() as tx:
        kept = await tx.fetch_text("select to_jsonb(h)::text as t from koken.hook h")
    assert all(old[6:] not in row["t"] and new[6:] not in row["t"] for row in kept)


REFUSED: tuple[tuple[dict[str, str], int], ...] = (
    ({"name": "a b", "job": "lift"}, 422),
    ({"name": "x", "job": "nothing"}, 404),
    ({"name": "x", "job": "lift", "argument": "wings"}, 422),
    ({"name": "x", "job": "lift", "scheme": "none"}, 422),
    ({"name": "ships", "job": "lift"}, 409),
    ({"name": "\x00", "job": "lift"}, 422),
    ({"name": "x", "job": "\x00"}, 422),
)


async def test_hooks_that_cannot_be(open_house: OpenHouse) -> None:
    _, http, _ = await opened(open_house)
    for body, status in REFUSED:
        assert (await http.post("/api/v1/hooks", json=body)).status_code == status, body


async def test_who_may_make_hooks(open_house: OpenHouse) -> None:
    house, http, _ = await opened(open_house)
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    operator = await token(house, "read", "start", "operate", name="op")
    got = await http.post("/api/v1/hooks", json={"name": "x", "job": "lift"}, headers=operator)
    assert problem(got) == (403, "forbidden")
    admin = await token(house, "read", "administer", name="admin")
    for path, body in (
        ("/api/v1/hooks", {"name": "x", "job": "lift"}),
        ("/api/v1/hooks/ships/rotations", {}),
    ):
        got = await http.post(path, json=body, headers=admin)
        assert problem(got) == (403, "forbidden"), path
        assert "nobody gives what they do not have" in got.json()["detail"]
    ruler = await token(house, "start", "administer", name="ruler")
    got = await http.post("/api/v1/hooks", json={"name": "x", "job": "lift"}, headers=ruler)
    assert got.status_code == 201
    assert (await http.post("/api/v1/hooks/x/rotations", headers=ruler)).status_code == 200
    theirs = await token(house, "read", "start", "administer", workspace="acme", name="acme")
    assert (await http.get("/api/v1/hooks", headers=theirs)).json()["items"] == []
    got = await http.delete("/api/v1/hooks/ships", headers=theirs)
    assert problem(got) == (404, "not_found")
    got = await http.post("/api/v1/hooks/ships/rotations", headers=theirs)
    assert problem(got) == (404, "not_found")


async def test_a_hook_of_a_job_that_nobody_has_started_yet(open_house: OpenHouse) -> None:
    app = koken.App("pier")

    @app.job
    def moor(ship: str = "ada") -> None:
        """Moor a ship."""

    _, http = await open_house(program=app)
    body = {"name": "ships", "job": "moor", "argument": "wings"}
    got = await http.post("/api/v1/hooks", json=body)
    assert problem(got) == (422, "invalid_arguments")
    got = await http.post("/api/v1/hooks", json={"name": "ships", "job": "moor"})
    assert got.status_code == 201, got.text
    assert (await call(http, signed(got.json()["secret"]))).status_code == 202
    assert (await http.get("/api/v1/runs/1")).json()["args"] == {"ship": "grace"}


async def test_a_hook_starts_in_its_own_workspace(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    place = {"Koken-Workspace": "acme"}
    body = {"name": "acme", "job": "lift"}
    secret = (await http.post("/api/v1/hooks", json=body, headers=place)).json()["secret"]
    got = await call(http, {**signed(secret), "Koken-Workspace": "default"}, name="acme")
    run = (await http.get(f"/api/v1/runs/{got.json()['run']}")).json()
    assert run["workspace"] == "acme"
    assert json.loads(got.text)["existing"] is False
