from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from koken.engine import access, tokens
from koken.model.web import Web
from koken.web.access import opening, principal
from koken.web.access.principal import Kind
from tests.support.moments import until

RUNS = "/api/v1/runs"


async def test_this_machine_alone_comes_in_while_nobody_has_credentials(
    open_house: Any, token: Any
) -> None:
    house, http = await open_house()
    assert (await http.get(RUNS)).status_code == 200
    said = await opening.open_reason(house)
    assert said is not None
    assert "whoever is on this machine may do everything" in said
    await token(house, "read")
    got = await http.get(RUNS)
    assert (got.status_code, got.headers["www-authenticate"]) == (401, "Bearer")
    assert got.json()["code"] == "not_signed_in"
    assert await opening.open_reason(house) is None


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("192.0.2.7", {}),
        ("127.0.0.1", {"X-Forwarded-For": "192.0.2.7"}),
        ("127.0.0.1", {"Host": "192.0.2.1:7070"}),
    ],
)
async def test_nobody_else_is_taken_for_this_machine(
    house: Any, peer: str, headers: dict[str, str]
) -> None:
    transport = httpx.ASGITransport(house.http._transport.app, client=(peer, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:7070") as http:
        assert (await http.get(RUNS, headers=headers)).status_code == 401


async def test_a_foreign_name_that_leads_here_is_no_way_in(http: httpx.AsyncClient) -> None:
    got = await http.get(RUNS, headers={"Host": "rebound.example:7070"})
    assert (got.status_code, got.json()["code"]) == (421, "misdirected")
    page = await http.get("/", headers={"Host": "rebound.example"})
    assert page.status_code == 421
    assert '[web] hosts = ["rebound.example"]' in page.text


async def test_names_of_this_machine_are_ours(http: httpx.AsyncClient) -> None:
    for host in ("localhost:7070", "127.0.0.1", "[::1]:7070", "x.localhost", "LOCALHOST."):
        assert (await http.get(RUNS, headers={"Host": host})).status_code == 200, host
    for host in ("localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "a b"):
        assert (await http.get(RUNS, headers={"Host": host})).status_code == 421, host


async def test_names_of_the_settings_are_ours_and_no_others(open_house: Any, token: Any) -> None:
    house, http = await open_house(
        web=Web(url="https://koken.example", hosts=("koken.internal",)), loopback=False
    )
    bearer = await token(house, "read")
    for host, status in (
        ("koken.example", 200),
        ("KOKEN.internal:7070", 200),
        ("other.example", 421),
    ):
        got = await http.get(RUNS, headers={**bearer, "Host": host})
        assert (host, got.status_code) == (host, status)


async def test_a_token_does_what_it_may_and_no_more(open_house: Any, token: Any) -> None:
    house, http = await open_house(loopback=False)
    reads = await token(house, "read")
    assert (await http.get(RUNS, headers=reads)).status_code == 200
    got = await http.post(RUNS, headers=reads, json={"job": "greet"})
    assert (got.status_code, got.json()["code"]) == (403, "forbidden")
    starts = await token(house, "start", "read", name="starter")
    got = await http.post(RUNS, headers=starts, json={"job": "greet"})
    assert got.status_code in (200, 201, 202)
    assert got.json()["trigger"]["by"] == "token starter"


async def test_a_token_that_nobody_made_opens_nothing(open_house: Any, token: Any) -> None:
    house, http = await open_house(loopback=False)
    whole = (await token(house, "read"))["Authorization"]
    for header in (
        "Bearer koken_00000000_" + "A" * 43,
        "Bearer koken_",
        "Bearer " + "A" * 60,
        "bearer koken_\udcff\x01",
        "Bearer",
        "Basic bWlyYTptaXJh",
        whole[:-1],
        whole + "A",
        whole.replace("koken_", "koken__"),
        whole.upper(),
    ):
        raw = {"Authorization": header.encode("utf-8", "surrogateescape")}
        assert (await http.get(RUNS, headers=raw)).status_code == 401, header
    assert (await http.get(RUNS, headers={"Authorization": whole})).status_code == 200


async def test_a_token_ends_by_time_and_by_hand(
    open_house: Any, token: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, http = await open_house()
    revoked = await token(house, "read")
    passing = await token(house, "read", name="passing", seconds=3600)
    assert [(await http.get(RUNS, headers=each)).status_code for each in (revoked, passing)] == [
        200,
        200,
    ]

    await tokens.revoke(house.db, "ci", by="test")
    house.credentials.forget()
    assert (await http.get(RUNS, headers=revoked)).status_code == 401
    assert (await http.get(RUNS, headers=passing)).status_code == 200

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(2199, 1, 1, tzinfo=UTC)

    monkeypatch.setattr(principal, "datetime", Later)
    assert (await http.get(RUNS, headers=passing)).status_code == 401


async def test_a_token_that_is_known_costs_no_look_at_the_database(
    open_house: Any, token: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, http = await open_house()
    bearer = await token(house, "read")
    assert (await http.get("/api/v1/runs", headers=bearer)).status_code == 200

    async def looked(*_: Any) -> None:
        raise AssertionError("looked at the database")

    monkeypatch.setattr("koken.views.doors.token", looked)
    monkeypatch.setattr("koken.views.doors.workspaces", looked)
    monkeypatch.setattr("koken.views.doors.credentials_given", looked)
    assert (await http.get("/api/v1/runs", headers=bearer)).status_code == 200


async def test_what_is_kept_of_tokens_is_bounded(
    open_house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, _ = await open_house()
    house.credentials.bad.most = 10
    for number in range(30):
        assert await house.credentials.token(f"koken_{number}") is None
    assert len(house.credentials.bad.answers) == 10


async def test_when_a_token_was_used_is_written_down(open_house: Any, token: Any) -> None:
    house, http = await open_house()
    bearer = await token(house, "read")

    async def used() -> bool:
        from koken.views.access import tokens

        return (await tokens(house.views))[0].last_used_at is not None

    assert not await used()
    await http.get(RUNS, headers=bearer)
    await until(used)


async def test_a_workspace_that_one_may_not_see_is_as_one_that_is_not_there(
    open_house: Any, token: Any
) -> None:
    house, http = await open_house()
    await house.client.using(workspace="acme").start(house.registry.get("greet"))
    await house.client.using(workspace="globex").start(house.registry.get("greet"))
    bearer = await token(house, "read", workspace="acme")
    (run,) = (await http.get(RUNS, headers=bearer)).json()["items"]
    assert run["workspace"] == "acme"
    answers = [
        (await http.get(RUNS, headers={**bearer, "Koken-Workspace": name})).json()
        for name in ("globex", "nowhere", "default", "*")
    ]
    assert [(each["status"], each["code"]) for each in answers] == [(404, "not_found")] * 4
    assert answers[0]["detail"] == "there is no workspace 'globex' here"
    assert answers[1]["detail"] == "there is no workspace 'nowhere' here"
    everywhere = await token(house, "read", name="everywhere")
    got = await http.get(RUNS, headers={**everywhere, "Koken-Workspace": "globex"})
    assert [each["workspace"] for each in got.json()["items"]] == ["globex"]
    got = await http.get(RUNS, headers={**everywhere, "Koken-Workspace": "nowhere"})
    assert got.status_code == 404


async def test_a_page_stays_in_the_workspace_that_was_chosen(
    open_house: Any, user: Any, browser: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="acme", operator="globex")
    anna = await browser(http, "anna")
    shown = 'title="Workspace: this one and the others">{}</a>'
    assert shown.format("acme") in (await anna.get("/account")).text
    assert shown.format("globex") in (await anna.get("/account?workspace=globex")).text
    assert shown.format("globex") in (await anna.get("/account")).text
    assert (await anna.get("/account?workspace=default")).status_code == 404
    await access.take_role(house.db, "anna", workspace="globex", by="test")
    assert shown.format("acme") in (await anna.get("/account")).text


async def test_a_proxy_is_believed_in_its_network_only(open_house: Any) -> None:
    web = Web(
        proxy_header="X-Remote-User",
        proxy_trusted=("127.0.0.0/30",),
        roles={"anna": {"*": "admin"}, "*": {"acme": "viewer"}},
    )
    house, http = await open_house(web=web)
    await house.client.using(workspace="acme").start(house.registry.get("greet"))
    assert (await http.get(RUNS)).status_code == 401
    anna = await http.get("/account", headers={"X-Remote-User": "anna"})
    assert "anna, by the proxy before Koken" in anna.text
    ben = await http.get(RUNS, headers={"X-Remote-User": "ben"})
    assert [run["workspace"] for run in ben.json()["items"]] == ["acme"]
    twice = [("X-Remote-User", "anna"), ("X-Remote-User", "ben")]
    for headers in (twice, [("X-Remote-User", " ")]):
        assert (await http.get(RUNS, headers=headers)).status_code == 401
    stranger = httpx.ASGITransport(http._transport.app, client=("127.0.0.9", 1))
    async with httpx.AsyncClient(transport=stranger, base_url=http.base_url) as other:
        assert (await other.get(RUNS, headers={"X-Remote-User": "anna"})).status_code == 401


@pytest.mark.parametrize(
    ("web", "loopback", "said"),
    [
        (Web(), True, None),
        (Web(), False, "koken user add NAME --role admin"),
        (Web(issuer="https://id.example"), False, "issuer needs client_id"),
        (Web(proxy_header="X-User"), False, "proxy_header needs proxy_trusted"),
        (
            Web(proxy_header="X-User", proxy_trusted=("10.0.0.0/8",)),
            False,
            "whom an issuer or a proxy vouches for may do nothing yet",
        ),
        (
            Web(proxy_header="X-User", proxy_trusted=("10.0.0.0/8",), roles={"*": {"*": "viewer"}}),
            False,
            None,
        ),
    ],
)
async def test_without_credentials_the_doors_open_to_this_machine_only(
    open_house: Any, web: Web, loopback: bool, said: str | None
) -> None:
    house, _ = await open_house(web=web, loopback=loopback)
    found = await opening.closed(house)
    assert found == said if said is None else said in (found or "")


async def test_with_a_user_the_doors_may_open_to_all(open_house: Any, user: Any) -> None:
    house, _ = await open_house(loopback=False)
    await user(house, "anna", admin="*")
    assert await opening.closed(house) is None


async def test_a_right_in_one_workspace_is_none_in_another(open_house: Any, token: Any) -> None:
    house, _ = await open_house()
    bearer = await token(house, "read", "operate", workspace="acme")
    found = await house.credentials.token(bearer["Authorization"].removeprefix("Bearer "))
    assert (found.kind, found.name) == (Kind.TOKEN, "token ci")
    assert {place: sorted(rights) for place, rights in found.rights.items()} == {
        "acme": ["operate", "read"]
    }
