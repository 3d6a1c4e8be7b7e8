"""Users over HTTP: added, given roles, kept out and let in again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher

from koken.web.access import passwords
from koken.web.house import House
from tests.web.api.yard import open_yard, problem, token

OpenHouse = Callable[..., Any]
USERS = "/api/v1/users"
PASSWORD = "tulips in spring"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that cost nothing."""
    monkeypatch.setattr(passwords, "HASHER", PasswordHasher(1, 8, 1))
    passwords.nobodys.cache_clear()


async def enters(http: httpx.AsyncClient, password: str) -> bool:
    """Whether ben comes in with that password."""
    got = await http.post("/sign-in", data={"name": "ben", "password": password, "next": "/"})
    return got.status_code == 303


async def lines(house: House) -> list[tuple[str, str, str | None]]:
    """What was written down: verb, by whom, why."""
    async with house.db.transaction() as tx:
        found = await tx.fetch_text("select verb, by, reason from koken.event order by id")
    return [(row["verb"], row["by"], row["reason"]) for row in found]


async def test_a_user_from_the_first_day_to_the_last(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    admin = await token(house, "read", "start", "operate", "administer", name="root")
    first = {"name": "ben", "password": PASSWORD, "role": "viewer", "reason": "new here"}
    got = await http.post(USERS, json=first, headers=admin)
    assert (got.status_code, got.json()) == (
        201,
        {"user": "ben", "role": "viewer", "workspace": "default"},
    )
    assert problem(await http.post(USERS, json=first, headers=admin)) == (409, "conflict")
    assert await enters(http, PASSWORD)
    role = {"role": "operator", "workspace": "*", "reason": "on call"}
    got = await http.post(f"{USERS}/ben/roles", json=role, headers=admin)
    assert got.json() == {"user": "ben", "role": "operator", "workspace": "*"}
    got = await http.delete(f"{USERS}/ben/roles?reason=once is enough", headers=admin)
    assert got.status_code == 204
    (row,) = (await http.get(USERS, headers=admin)).json()["items"]
    assert (row["name"], row["roles"], row["sessions"]) == ("ben", {"*": "operator"}, 1)
    got = await http.post(f"{USERS}/ben/sign-outs", headers=admin)
    assert got.json() == {"user": "ben", "ended": 1}
    changed = {"password": "roses in summer", "reason": "forgotten"}
    got = await http.post(f"{USERS}/ben/passwords", json=changed, headers=admin)
    assert (got.status_code, got.json()) == (200, {"user": "ben"})
    assert not await enters(http, PASSWORD)
    got = await http.post(f"{USERS}/ben/disablements", json={"reason": "left"}, headers=admin)
    assert got.json() == {"user": "ben", "disabled": True}
    assert not await enters(http, "roses in summer")
    got = await http.post(f"{USERS}/ben/enablements", headers=admin)
    assert got.json() == {"user": "ben", "disabled": False}
    assert await enters(http, "roses in summer")
    assert (await lines(house))[-7:] == [
        ("add user", "token root", "new here"),
        ("give role", "token root", "on call"),
        ("take role", "token root", "once is enough"),
        ("end session", "token root", None),
        ("set password", "token root", "forgotten"),
        ("disable user", "token root", "left"),
        ("enable user", "token root", None),
    ]


async def test_somebody_without_a_role_is_no_business_of_a_workspace(
    open_house: OpenHouse,
) -> None:
    house, http = await open_yard(open_house)
    root = await token(house, "read", "start", "operate", "administer", name="root")
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme'), ('globex')")
    house.credentials.forget()
    acmes = await token(
        house, "read", "start", "operate", "administer", workspace="acme", name="acmes"
    )
    nora = {"name": "nora", "password": PASSWORD}
    assert problem(await http.post(USERS, json=nora, headers=acmes)) == (403, "forbidden")
    got = await http.post(USERS, json=nora, headers=root)
    assert (got.status_code, got.json()) == (
        201,
        {"user": "nora", "role": None, "workspace": None},
    )
    cora = {"name": "cora", "password": PASSWORD, "role": "viewer", "workspace": "globex"}
    assert (await http.post(USERS, json=cora, headers=root)).status_code == 201
    assert (await http.get(USERS, headers=acmes)).json()["items"] == []
    for name in ("nora", "cora", "nobody"):
        for act in ("disablements", "enablements", "sign-outs"):
            got = await http.post(f"{USERS}/{name}/{act}", headers=acmes)
            assert problem(got) == (404, "not_found"), (name, act)
            assert (
                got.json()["detail"] == f"there is no user '{name}'; `koken user list` lists them"
            )
        stolen = {"password": "a stolen password"}
        got = await http.post(f"{USERS}/{name}/passwords", json=stolen, headers=acmes)
        assert problem(got) == (404, "not_found")
    anna = {"name": "anna", "password": PASSWORD, "role": "admin", "workspace": "*"}
    assert (await http.post(USERS, json=anna, headers=root)).status_code == 201
    got = await http.post(f"{USERS}/anna/disablements", headers=acmes)
    assert problem(got) == (403, "forbidden")


async def test_nobody_gives_what_they_do_not_have(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    admin = await token(house, "read", "administer", name="root")
    operator = await token(house, "read", "start", "operate", name="op")
    ada = {"name": "ada", "password": PASSWORD}
    for body, headers, status in (
        (ada | {"role": "admin"}, admin, 403),
        (ada, operator, 403),
        (ada | {"role": "king"}, admin, 422),
        (ada | {"password": "short"}, admin, 422),
        (ada | {"password": 7}, admin, 422),
        ({"name": "ada"}, admin, 422),
    ):
        got = await http.post(USERS, json=body, headers=headers)
        assert got.status_code == status, body
        assert PASSWORD not in got.text
    assert (await http.get(USERS, headers=admin)).json() == {"items": [], "next": None}
    for act in ("disablements", "enablements", "sign-outs"):
        got = await http.post(f"{USERS}/nobody/{act}", headers=admin)
        assert problem(got) == (404, "not_found"), act
        assert (await http.post(f"{USERS}/nobody/{act}", headers=operator)).status_code == 403


async def test_a_password_is_nowhere_but_in_its_hash(
    open_house: OpenHouse, caplog: pytest.LogCaptureFixture
) -> None:
    house, http = await open_yard(open_house)
    with caplog.at_level(logging.DEBUG):
        body = {"name": "ben", "password": PASSWORD}
        got = await http.post(USERS, json=body, headers={"Idempotency-Key": "k"})
        assert got.status_code == 201
        admin = await token(house, "read", "administer", name="root")
        headers = admin | {"Idempotency-Key": "k"}
        got = await http.post(
            f"{USERS}/ben/passwords", json={"password": PASSWORD}, headers=headers
        )
        assert got.status_code == 200
    assert PASSWORD not in caplog.text
    async with house.db.transaction() as tx:
        tables = await tx.fetch_text(
            "select c.relname as name from pg_class c where c.relkind = 'r'"
            " and c.relnamespace = 'koken'::regnamespace"
        )
        for table in tables:
            (row,) = await tx.fetch_text(
                f"select count(*) as n from koken.{table['name']} t"
                f" where t::text like '%{PASSWORD}%'"
            )
            assert row["n"] == 0, table["name"]
        (kept,) = await tx.fetch_text("select count(*) as n from koken.answered")
    assert kept["n"] == 0
