from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from koken.engine import access
from koken.model.web import Web
from koken.views.access import SessionRow, sessions, users
from koken.web.access import passwords, seals
from koken.web.access.origin import safe_path
from tests.web.access.conftest import PASSWORD, csrf, form
from tests.web.forms import hidden

NEW = "roses in summer"


async def test_a_page_leads_to_the_sign_in_and_back(open_house: Any, user: Any) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    got = await http.get("/account?a=1&b=2")
    assert (got.status_code, got.headers["location"]) == (
        303,
        "/sign-in?next=/account%3Fa%3D1%26b%3D2",
    )
    page = await http.get(got.headers["location"])
    assert '<input type="hidden" name="next" value="/account?a=1&amp;b=2">' in page.text
    got = await http.post("/sign-in", data=form(back="/account?a=1&b=2"))
    assert (got.status_code, got.headers["location"]) == (303, "/account?a=1&b=2")
    cookie = got.headers["set-cookie"]
    assert cookie.startswith("koken_session=")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Max-Age=43200" in cookie
    assert "Secure" not in cookie
    assert "anna, signed in." in (await http.get("/account")).text
    (anna,) = await users(house.views)
    assert (anna.name, anna.sessions, anna.roles) == ("anna", 1, {"*": "viewer"})
    assert anna.signed_in_at is not None


@pytest.mark.parametrize(
    ("path", "safe"),
    [
        ("/runs/412?tab=log", "/runs/412?tab=log"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("\\\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/\t/evil.example", "/"),
        ("/\n/evil.example", "/"),
        (" /x", "/"),
        ("/\u2028x", "/"),
        ("runs", "/"),
        ("", "/"),
    ],
)
def test_a_way_back_stays_here(path: str, safe: str) -> None:
    assert safe_path(path) == safe


async def test_who_signs_in_is_not_led_elsewhere(open_house: Any, user: Any) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    for path in ("//evil.example", "https://evil.example", "/\\evil.example"):
        assert (await http.post("/sign-in", data=form(back=path))).headers["location"] == "/"
        assert "evil" not in (await http.get("/sign-in", params={"next": path})).text


async def test_wrong_names_and_passwords_are_told_apart_by_nobody(
    open_house: Any, user: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    await user(house, "ben", viewer="*")
    await access.disable(house.db, "ben", by="test")
    for name, password in (
        ("anna", "wrong"),
        ("nobody", PASSWORD),
        ("anna\0", PASSWORD),
        ("", ""),
        ("anna", ""),
        ("ben", PASSWORD),
        ("' or 1=1 --", "' or 1=1 --"),
        ("anna", PASSWORD + "x" * 5000),
    ):
        got = await http.post("/sign-in", data=form(name, password))
        assert got.status_code == 401, name
        assert "Name or password is wrong." in got.text
        assert "set-cookie" not in got.headers


async def test_a_name_is_the_same_however_it_is_written(open_house: Any, user: Any) -> None:
    house, http = await open_house()
    await user(house, "Anna", viewer="*")
    assert (await http.post("/sign-in", data=form(" anna "))).status_code == 303
    assert "Anna, signed in." in (await http.get("/account")).text


async def test_an_unknown_name_takes_the_same_work(
    open_house: Any, user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    checked: list[str | None] = []
    matches = passwords.matches
    monkeypatch.setattr(
        passwords, "matches", lambda given, kept: checked.append(kept) or matches(given, kept)
    )
    await http.post("/sign-in", data=form("nobody"))
    await http.post("/sign-in", data=form("anna", "wrong"))
    assert [kept is None for kept in checked] == [True, False]
    assert not passwords.matches("nobody has this password ", None)


async def test_a_session_that_was_there_before_is_none_of_theirs(
    open_house: Any, user: Any, browser: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    await user(house, "eve", viewer="*")
    eve = await browser(http, "eve")
    planted = eve.cookies["koken_session"]
    for cookie in (planted, "chosen"):
        victim = httpx.AsyncClient(
            transport=http._transport, base_url=http.base_url, cookies={"koken_session": cookie}
        )
        got = await victim.post("/sign-in", data=form())
        assert got.status_code == 303
        made = got.headers["set-cookie"].split(";")[0].removeprefix("koken_session=")
        assert made not in (planted, "chosen")
        assert len(made) == 43
    assert (await eve.get("/account")).status_code == 303
    assert await sessions(house.views, "eve") == []


async def test_a_cookie_that_was_changed_opens_nothing(
    open_house: Any, user: Any, browser: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    anna = await browser(http, "anna")
    good = anna.cookies["koken_session"]
    (session,) = await sessions(house.views, "anna")
    for changed in (good[:-1], good + "A", good.swapcase(), "", session.id, "\udcff", "é"):
        cookie = f"koken_session={changed}".encode("utf-8", "surrogateescape")
        got = await http.get("/account", headers={"Cookie": cookie})
        assert got.status_code == 303, changed
    assert (await anna.get("/account")).status_code == 200


async def test_the_session_is_nowhere_but_in_the_browser(
    open_house: Any, user: Any, browser: Any, database_url: str
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    anna = await browser(http, "anna")
    (row,) = await house.views.run(
        lambda tx: tx.fetch_text(
            "select encode(hash, 'hex') as hash, s::text as whole, u::text as user"
            " from koken.session s join koken.user u on u.id = s.user_id"
        )
    )
    assert anna.cookies["koken_session"] not in row["whole"]
    assert len(row["hash"]) == 64
    assert "$argon2id$" in row["user"]
    assert PASSWORD not in row["user"]


async def test_signing_out_ends_the_session(open_house: Any, user: Any, browser: Any) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    anna = await browser(http, "anna")
    kept = anna.cookies["koken_session"]
    proof = await csrf(anna)
    got = await anna.post("/sign-out", data={"csrf": proof})
    assert (got.status_code, got.headers["location"]) == (303, "/sign-in")
    assert "koken_session=" in got.headers["set-cookie"]
    assert "Max-Age=0" in got.headers["set-cookie"]
    assert await sessions(house.views, "anna") == []
    got = await http.get("/account", headers={"Cookie": f"koken_session={kept}"})
    assert got.status_code == 303


async def test_who_has_no_role_is_told_and_can_leave(
    open_house: Any, user: Any, browser: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna")
    anna = await browser(http, "anna")
    got = await anna.get("/")
    assert got.status_code == 403
    assert (
        "anna has no role here yet; somebody who administers Koken gives one"
        in got.text.replace("Anna", "anna")
    )
    page = (await anna.get("/sign-in")).text
    assert "You are signed in as anna." in page
    proof = hidden(page, "csrf")
    assert (await anna.post("/sign-out", data={"csrf": "0" * 64})).status_code == 403
    assert (await anna.post("/sign-out", data={"csrf": proof})).status_code == 303
    assert "You are signed in" not in (await anna.get("/sign-in")).text


async def test_a_session_is_over_after_its_time(open_house: Any, user: Any, browser: Any) -> None:
    house, http = await open_house(web=Web(session=600.0))
    await user(house, "anna", viewer="*")
    anna = await browser(http, "anna")
    (session,) = await sessions(house.views, "anna")
    assert session.expires_at - session.created_at == timedelta(minutes=10)
    await house.db.run(
        lambda tx: tx.execute(
            "update koken.session set expires_at = koken.now() - interval '1 second'"
        )
    )
    assert (await anna.get("/account")).status_code == 303
    assert (await anna.get("/api/v1/runs")).status_code == 401


async def test_who_is_disabled_is_out_at_once(open_house: Any, user: Any, browser: Any) -> None:
    house, http = await open_house()
    await user(house, "anna", admin="*")
    anna = await browser(http, "anna")
    assert (await anna.get("/api/v1/runs")).status_code == 200
    await access.disable(house.db, "anna", by="test")
    assert (await anna.get("/api/v1/runs")).status_code == 401
    await access.enable(house.db, "anna", by="test")
    assert (await anna.get("/api/v1/runs")).status_code == 401


async def test_a_role_that_is_taken_is_gone_at_once(
    open_house: Any, user: Any, browser: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", operator="*")
    anna = await browser(http, "anna")
    await access.give_role(house.db, "anna", "viewer", by="test")
    got = await anna.post("/api/v1/runs", json={"job": "greet"})
    assert got.status_code == 403
    await access.take_role(house.db, "anna", by="test")
    got = await anna.get("/api/v1/runs")
    assert got.status_code == 403
    assert "anna has no role here yet" in got.json()["detail"]


async def test_another_password_ends_the_other_sessions(
    open_house: Any, user: Any, browser: Any
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    here, there = await browser(http, "anna"), await browser(http, "anna")
    proof = await csrf(here)
    for now, new, status, said in (
        ("wrong", NEW, 403, "That is not your password."),
        (PASSWORD, "short", 422, "A password has 10 to 1,000 characters."),
    ):
        given = {"csrf": proof, "password": now, "new": new}
        got = await here.post("/account/password", data=given)
        assert (got.status_code, said in got.text) == (status, True)
    assert (await there.get("/account")).status_code == 200
    given = {"csrf": proof, "password": PASSWORD, "new": NEW}
    assert (await here.post("/account/password", data=given)).status_code == 303
    assert (await here.get("/account")).status_code == 200
    assert (await there.get("/account")).status_code == 303
    assert (await http.post("/sign-in", data=form())).status_code == 401
    assert (await http.post("/sign-in", data=form(password=NEW))).status_code == 303


async def test_proofs_are_compared_in_the_same_time(
    open_house: Any, user: Any, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    anna = await browser(http, "anna")
    proof = await csrf(anna)
    compared: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, wanted: bytes) -> bool:
        compared.append((given, wanted))
        return False

    monkeypatch.setattr(seals.hmac, "compare_digest", compare)
    got = await anna.post("/sign-out", data={"csrf": proof})
    assert got.status_code == 403
    assert set(compared) == {(proof.encode(), proof.encode())}


CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/156.0.0.0 Safari/537.36"
)


@pytest.mark.parametrize(
    ("agent", "browser"),
    [
        (CHROME, "Chrome on Linux"),
        (f"{CHROME} Edg/156.0", "Edge on Linux"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Safari/604.1",
            "Safari on an iPhone",
        ),
        ("python-httpx/0.28", "Something else"),
    ],
)
def test_browsers_have_names(agent: str, browser: str) -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    row = SessionRow(
        id="a", user="anna", created_at=now, seen_at=now, expires_at=now, address="", agent=agent
    )
    assert row.browser == browser


async def test_a_page_shows_what_was_typed_as_text(open_house: Any, user: Any) -> None:
    house, http = await open_house()
    await user(house, "anna", viewer="*")
    got = await http.post("/sign-in", data=form('"><script>alert(1)</script>'))
    assert "<script>alert" not in got.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in got.text
