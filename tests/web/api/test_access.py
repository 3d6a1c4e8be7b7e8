"""Users and tokens over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.web.api.yard import open_yard, problem, token

OpenHouse = Callable[..., Any]


async def test_a_token_is_made_told_once_and_revoked(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    admin = await token(house, "read", "administer", name="root")
    body = {"name": "ci", "scopes": ["read"], "workspace": "*", "expires": "90d"}
    got = await http.post("/api/v1/tokens", json=body, headers=admin)
    assert (got.status_code, got.json()["name"]) == (201, "ci")
    made = {"Authorization": f"Bearer {got.json()['token']}"}
    assert (await http.get("/api/v1/jobs", headers=made)).status_code == 200
    listed = (await http.get("/api/v1/tokens", headers=admin)).json()["items"]
    (row,) = [row for row in listed if row["name"] == "ci"]
    assert (row["scopes"], row["workspace"], row["standing"]) == (["read"], "*", "good")
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
    for more in ({"workspace": "*"}, {"workspace": "default"}, {"scopes": ["operate"]}):
        body = {"name": "x", "scopes": ["read"], **more}
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


async def test_tokens_that_cannot_be(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    admin = await token(house, "read", "administer", name="root")
    for body in (
        {"name": "x"},
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["rule"]},
        {"name": "a b", "scopes": ["read"]},
        {"name": "x", "scopes": ["read"], "expires": "soon"},
        {"name": "x", "scopes": ["read"], "expires": -1},
        {"name": "x", "scopes": ["read"], "expires": 1e300},
        {"name": "\x00", "scopes": ["read"]},
    ):
        got = await http.post("/api/v1/tokens", json=body, headers=admin)
        assert problem(got) == (422, "invalid_arguments"), body
