"""Users and tokens over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from koken.engine import tokens
from koken.views import access as views
from tests.web.api.yard import open_yard, problem, token

OpenHouse = Callable[..., Any]


async def test_a_token_is_made_told_once_and_revoked(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    admin = await token(house, "read", "administer", name="root")
    body = {"name": "ci", "rights": ["read"], "workspace": "*", "expires": "90d"}
    got = await http.post("/api/v1/tokens", json=body, headers=admin)
    key = got.json()["token"]
    (ends,) = [row.expires_at for row in await views.tokens(house.views) if row.name == "ci"]
    assert (got.status_code, got.json()) == (
        201,
        {
            "name": "ci",
            "token": key,
            "rights": ["read"],
            "workspace": "*",
            "expires_at": ends.isoformat() if ends else None,
        },
    )
    made = {"Authorization": f"Bearer {got.json()['token']}"}
    assert (await http.get("/api/v1/jobs", headers=made)).status_code == 200
    listed = (await http.get("/api/v1/tokens", headers=admin)).json()["items"]
    (row,) = [row for row in listed if row["name"] == "ci"]
    assert (row["rights"], row["workspace"], row["standing"]) == (["read"], "*", "good")
    assert got.json()["token"] not in (await http.get("/api/v1/tokens", headers=admin)).text
    assert (await http.delete("/api/v1/tokens/ci?reason=leaked", headers=admin)).status_code == 204
    (told,) = (await http.get("/api/v1/events?q=verb:%22revoke token%22", headers=admin)).json()[
        "items"
    ]
    assert (told["by"], told["reason"]) == ("token root", "leaked")
    assert problem(await http.get("/api/v1/jobs", headers=made)) == (401, "not_signed_in")
    assert problem(await http.delete("/api/v1/tokens/ci", headers=admin)) == (404, "not_found")


async def test_nobody_gives_what_they_do_not_have(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    await token(house, "read", name="elsewhere", workspace="default")
    admin = await token(house, "read", "administer", workspace="acme", name="root")
    for more in ({"workspace": "*"}, {"workspace": "default"}, {"rights": ["operate"]}):
        body = {"name": "x", "rights": ["read"], **more}
        got = await http.post("/api/v1/tokens", json=body, headers=admin)
        assert problem(got)[0] in (403, 404), more
    listed = (await http.get("/api/v1/tokens", headers=admin)).json()["items"]
    assert [row["name"] for row in listed] == ["root"]
    got = await http.delete("/api/v1/tokens/elsewhere", headers=admin)
    assert problem(got) == (404, "not_found")
    assert (await http.get("/api/v1/users", headers=admin)).json() == {"items": [], "next": None}
    operator = await token(house, "read", "operate", name="op")
    assert problem(await http.get("/api/v1/tokens", headers=operator)) == (403, "forbidden")
    assert problem(await http.get("/api/v1/users", headers=operator)) == (403, "forbidden")


async def test_a_workspace_learns_no_name_of_anothers_token(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    await token(house, "read", name="ci")
    admin = await token(house, "read", "administer", workspace="acme", name="root")
    assert problem(await http.delete("/api/v1/tokens/ci", headers=admin)) == (404, "not_found")
    body = {"name": "ci", "rights": ["read"]}
    assert (await http.post("/api/v1/tokens", json=body, headers=admin)).status_code == 201
    assert problem(await http.post("/api/v1/tokens", json=body, headers=admin)) == (409, "conflict")
    assert (await http.delete("/api/v1/tokens/ci", headers=admin)).status_code == 204
    root = await token(house, "read", "administer", name="root")
    (row,) = [
        row
        for row in (await http.get("/api/v1/tokens", headers=root)).json()["items"]
        if row["name"] == "ci"
    ]
    assert row["workspace"] == "*"


async def test_tokens_that_cannot_be(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    admin = await token(house, "read", "administer", name="root")
    for body in (
        {"name": "x"},
        {"name": "x", "rights": []},
        {"name": "x", "rights": ["rule"]},
        {"name": "a b", "rights": ["read"]},
        {"name": "x", "rights": ["read"], "expires": "soon"},
        {"name": "x", "rights": ["read"], "expires": -1},
        {"name": "x", "rights": ["read"], "expires": 1e300},
        {"name": "\x00", "rights": ["read"]},
    ):
        got = await http.post("/api/v1/tokens", json=body, headers=admin)
        assert problem(got) == (422, "invalid_arguments"), body


async def test_a_token_makes_none_that_outlives_it(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    made = await tokens.make(house.db, "hour", ["read", "administer"], seconds=3600, by="anna")
    mine = {"Authorization": f"Bearer {made.token}"}
    assert made.expires_at is not None
    ends = {}
    for name, expires in (("ever", None), ("year", "365d"), ("minute", "1m")):
        asked = {"name": name, "rights": ["read"], "workspace": "*", "expires": expires}
        got = await http.post("/api/v1/tokens", json=asked, headers=mine)
        assert got.status_code == 201
        ends[name] = datetime.fromisoformat(got.json()["expires_at"])
    assert (ends["ever"], ends["year"]) == (made.expires_at, made.expires_at)
    assert ends["minute"] < made.expires_at
    asked = {"name": "page", "right": "read", "place": "*", "expires": "", "csrf": ""}
    assert (await http.post("/access/tokens", data=asked, headers=mine)).status_code == 201
    found = {row.name: row.expires_at for row in await views.tokens(house.views)}
    assert (found["page"], found["ever"]) == (made.expires_at, made.expires_at)
