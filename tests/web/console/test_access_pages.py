"""Who may come in: users, tokens, sessions and hooks, as administrators see and change them."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx

from koken.engine import access, sessions, tokens
from koken.model.rights import Right
from koken.views import access as views
from koken.web.house import House
from tests.web.api.yard import open_yard
from tests.web.console.pressing import as_user, look, press
from tests.web.console.sending import VIEWERS

OpenHouse = Callable[..., Any]
HOSTILE = "<script>alert(1)</script>"
RULERS = replace(
    VIEWERS, roles={**VIEWERS.roles, "ada": {"*": "admin"}, "dora": {"default": "admin"}}
)
"""Ada administers everything, Dora one workspace."""
SECRET = re.compile(r'<p class="secret"><code id="secret">([^<]+)</code>')
ADD = {"name": "bob", "password": "long enough to be one", "role": "operator", "place": "default"}


async def doors(open_house: OpenHouse) -> tuple[House, httpx.AsyncClient, dict[str, str]]:
    house, http = await open_yard(open_house, web=RULERS)
    return house, http, await as_user(house, "ada")


async def test_only_who_administers(open_house: OpenHouse) -> None:
    house, http, _ = await doors(open_house)
    for name in ("vera", "otto"):
        who = await as_user(house, name)
        for tab in ("", "/tokens", "/sessions", "/hooks"):
            assert (await http.get(f"/access{tab}", headers=who)).status_code == 403
        for act in (
            "users", "users/role", "users/password", "users/disable", "users/enable", "tokens",
            "tokens/revoke", "sessions/end", "hooks", "hooks/rotate", "hooks/remove",
        ):  # fmt: skip
            assert (await http.post(f"/access/{act}", data=ADD, headers=who)).status_code == 403
        assert "/access" not in (await http.get("/events", headers=who)).text


async def test_a_user_comes_gets_a_role_and_goes(open_house: OpenHouse) -> None:
    _, http, ada = await doors(open_house)
    page = await look(http, "/access", **ada)
    assert page.sentence == "Nobody has been given a user yet."
    got = await press(http, "/access", "/access/users", ADD | {"reason": "new here"}, **ada)
    assert (got.status_code, got.headers["location"]) == (303, "/access")
    page = await look(http, "/access", **ada)
    assert page.sentence == "1 user."
    assert "operator in default" in page.rows[1]
    assert "long enough" not in page.source
    role = {"name": "bob", "role": "viewer", "place": "*"}
    await press(http, "/access", "/access/users/role", role, **ada)
    await press(
        http, "/access", "/access/users/role", {**role, "role": "", "place": "default"}, **ada
    )
    page = await look(http, "/access", **ada)
    assert "viewer everywhere" in page.rows[1]
    assert "operator in default" not in page.rows[1]
    await press(http, "/access", "/access/users/disable", {"name": "bob", "reason": "left"}, **ada)
    page = await look(http, "/access", **ada)
    assert page.sentence == "1 user; 1 may not come in."
    await press(http, "/access", "/access/users/enable", {"name": "bob"}, **ada)
    assert (await look(http, "/access", **ada)).sentence == "1 user."
    got = await press(
        http, "/access", "/access/users", {**ADD, "name": "eve", "password": "short"}, **ada
    )
    assert (got.status_code, "10 to 1,000 characters" in got.text) == (422, True)
    got = await press(http, "/access", "/access/users", ADD, **ada)
    assert (got.status_code, "there is a user" in got.text.lower()) == (409, True)


async def test_the_form_of_a_role_begins_with_what_somebody_is(open_house: OpenHouse) -> None:
    _, http, ada = await doors(open_house)
    await press(http, "/access", "/access/users", {**ADD, "role": "admin", "place": "*"}, **ada)
    page = (await look(http, "/access", **ada)).source
    form = page[page.index('action="/access/users/role"') :]
    form = form[: form.index("</form>")]
    assert re.findall(r"<option[^>]* selected>([^<]+)", form) == ["admin", "everywhere"]


async def test_an_administrator_sets_a_password(open_house: OpenHouse) -> None:
    _, http, ada = await doors(open_house)
    await press(http, "/access", "/access/users", ADD, **ada)
    new = {"name": "bob", "password": "another that is long", "reason": "it was lost"}
    got = await press(http, "/access", "/access/users/password", new, **ada)
    assert (got.status_code, got.headers["location"]) == (303, "/access")
    got = await press(
        http, "/access", "/access/users/password", {**new, "password": "short"}, **ada
    )
    assert (got.status_code, "10 to 1,000 characters" in got.text) == (422, True)
    for password, status in ((ADD["password"], 401), (new["password"], 303)):
        signing = {"name": "bob", "password": password, "next": "/"}
        assert (await http.post("/sign-in", data=signing)).status_code == status


async def test_a_token_is_shown_once(open_house: OpenHouse) -> None:
    _, http, ada = await doors(open_house)
    asked = {"name": "robot", "right": ["read", "start"], "place": "default", "expires": "90d"}
    got = await press(http, "/access/tokens", "/access/tokens", asked, **ada)
    assert (got.status_code, got.headers["cache-control"]) == (201, "no-store")
    found = SECRET.search(got.text)
    assert found
    token = found[1]
    mine = {"Authorization": f"Bearer {token}"}
    assert (await http.get("/api/v1/runs", headers=mine)).status_code == 200
    page = await look(http, "/access/tokens", **ada)
    assert page.sentence == "1 token is good."
    assert "read, start default just now in 90 d" in page.rows[1]
    assert token not in page.source
    number = page.forms["/access/tokens/revoke"].values["token"]
    await press(http, "/access/tokens", "/access/tokens/revoke", {"token": number}, **ada)
    assert (await http.get("/api/v1/runs", headers=mine)).status_code == 401
    assert (await look(http, "/access/tokens", **ada)).sentence == "0 tokens are good."
    page = await look(http, "/access/tokens?revoked=1", **ada)
    assert "⊘ revoked by ada" in page.rows[1]


async def test_nobody_gives_what_they_do_not_have(open_house: OpenHouse) -> None:
    house, http, _ = await doors(open_house)
    dora = await as_user(house, "dora")
    asked = {"name": "robot", "right": ["read"], "place": "*", "expires": ""}
    got = await press(http, "/access/tokens", "/access/tokens", asked, **dora)
    assert (got.status_code, SECRET.search(got.text)) == (403, None)
    got = await press(
        http, "/access", "/access/users", {**ADD, "role": "admin", "place": "*"}, **dora
    )
    assert got.status_code == 403
    page = await look(http, "/access", **dora)
    assert "Sessions" not in page.links
    assert (await http.get("/access/sessions", headers=dora)).status_code == 403


async def test_one_rule_says_whose_sessions_somebody_ends(open_house: OpenHouse) -> None:
    house, http, _ = await doors(open_house)
    dora = await as_user(house, "dora")
    for name, workspace in (("bob", "default"), ("eve", "*"), ("nora", "globex")):
        await access.add_user(house.db, name, "hash", role="viewer", workspace=workspace, by="ada")
    key = (await tokens.make(house.db, "doras", list(Right), workspace="default", by="ada")).token
    hers = {"Authorization": f"Bearer {key}"}
    for name, status in (("bob", 303), ("eve", 403), ("nora", 404)):
        got = await http.post("/access/sessions/end", data={"user": name}, headers=dora)
        assert (name, got.status_code) == (name, status)
        got = await http.post(f"/api/v1/users/{name}/sign-outs", headers=hers)
        assert (name, got.status_code) == (name, 200 if status == 303 else status)


async def test_a_session_is_ended(open_house: OpenHouse) -> None:
    house, http, ada = await doors(open_house)
    await access.add_user(house.db, "bob", "hash", role="viewer", by="ada")
    (user,) = await fetch(house, "select id from koken.user")
    await sessions.open_session(
        house.db, user["id"], password="hash", seconds=600, address="10.0.0.7", agent=HOSTILE
    )
    page = await look(http, "/access/sessions", **ada)
    assert page.sentence == "1 browser signed in."
    assert [each.user for each in await views.sessions(house.views, limit=1)] == ["bob"]
    assert await views.sessions(house.views, "ada") == []
    assert f'title="{html.escape(HOSTILE)}">Something else<' in page.source
    assert "<script>alert" not in page.source
    values = page.forms["/access/sessions/end"].values
    await press(http, "/access/sessions", "/access/sessions/end", values, **ada)
    assert (await look(http, "/access/sessions", **ada)).sentence == "Nobody is signed in."


async def test_a_hook_is_made_renewed_and_removed(open_house: OpenHouse) -> None:
    _, http, ada = await doors(open_house)
    asked = {"name": "ships", "job": "lift", "scheme": "standard", "argument": ""}
    got = await press(http, "/access/hooks", "/access/hooks", asked, **ada)
    assert (got.status_code, got.headers["cache-control"]) == (201, "no-store")
    first = SECRET.search(got.text)
    assert first
    assert "/api/v1/hooks/ships" in got.text
    page = await look(http, "/access/hooks", **ada)
    assert page.sentence == "1 hook in default."
    assert first[1] not in page.source
    got = await press(http, "/access/hooks", "/access/hooks/rotate", {"hook": "ships"}, **ada)
    second = SECRET.search(got.text)
    assert second
    assert second[1] != first[1]
    await press(http, "/access/hooks", "/access/hooks/remove", {"hook": "ships"}, **ada)
    assert (await look(http, "/access/hooks", **ada)).sentence == "0 hooks in default."
    got = await press(http, "/access/hooks", "/access/hooks", {**asked, "name": HOSTILE}, **ada)
    assert (got.status_code, "<script>alert" in got.text) == (422, False)


async def fetch(house: House, text: str) -> list[Any]:
    async with house.db.session() as session:
        return list(await session.fetch_text(text))
