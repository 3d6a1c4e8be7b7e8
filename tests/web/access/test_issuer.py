from __future__ import annotations

import asyncio
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives import serialization

from koken.engine import access, signins
from koken.model.web import Web
from koken.views.access import users
from koken.web.access import seals
from koken.web.access.issuer import Issuer
from tests.web.access.fakeissuer import ISSUER, KEY, OTHER_KEY, SECRET, FakeIssuer

WEB = Web(
    issuer=ISSUER,
    client_id="koken",
    client_secret=SECRET,
    roles={"ops": {"*": "operator"}, "acme-staff": {"acme": "viewer"}},
)
ANNA = {"sub": "248", "preferred_username": "anna", "groups": ["ops", "acme-staff"]}


@pytest.fixture
def fake() -> FakeIssuer:
    issuer = FakeIssuer()
    issuer.claims = dict(ANNA)
    return issuer


@pytest.fixture
async def doors(open_house: Any, fake: FakeIssuer) -> Any:
    """The doors, with this issuer for one who vouches: house and client."""
    house, http = await open_house(web=WEB)
    house.issuer = Issuer(house.web, fake.transport)
    return house, http


async def come_back(http: httpx.AsyncClient, fake: FakeIssuer, back: str = "/") -> httpx.Response:
    """Off to the issuer, and back with what it says."""
    there = await http.get("/sign-in/issuer", params={"next": back})
    assert there.status_code == 303
    return await http.get("/sign-in/answer", params=fake.consent(there.headers["location"]))


async def test_somebody_comes_in_whom_the_issuer_vouches_for(doors: Any, fake: FakeIssuer) -> None:
    house, http = doors
    page = await http.get("/sign-in?next=/runs/4")
    assert 'href="/sign-in/issuer?next=%2Fruns%2F4">Sign in with id.example</a>' in page.text
    there = await http.get("/sign-in/issuer?next=/runs/4")
    query = parse_qs(urlsplit(there.headers["location"]).query)
    assert query["redirect_uri"] == ["http://127.0.0.1:7070/sign-in/answer"]
    assert (query["response_type"], query["code_challenge_method"]) == (["code"], ["S256"])
    assert query["scope"] == ["openid profile email"]
    assert "HttpOnly" in there.headers["set-cookie"]
    got = await http.get("/sign-in/answer", params=fake.consent(there.headers["location"]))
    assert (got.status_code, got.headers["location"]) == (303, "/runs/4")
    assert "koken_errand" not in http.cookies
    assert "anna, signed in." in (await http.get("/account")).text
    (anna,) = await users(house.views)
    assert (anna.name, anna.issuer) == ("anna", ISSUER)
    assert anna.roles == {"*": "operator", "acme": "viewer"}


async def test_the_issuer_says_anew_each_time_what_somebody_may_do(
    doors: Any, fake: FakeIssuer
) -> None:
    house, http = doors
    await come_back(http, fake)
    await access.give_role(house.db, "anna", "admin", workspace="globex", by="test")
    fake.claims = ANNA | {"groups": "acme-staff", "preferred_username": "anna.renamed"}
    assert (await come_back(http, fake)).status_code == 303
    (anna,) = await users(house.views)
    assert (anna.name, anna.roles) == ("anna", {"acme": "viewer", "globex": "admin"})


async def test_who_may_do_nothing_is_told_whom_to_ask(doors: Any, fake: FakeIssuer) -> None:
    house, http = doors
    fake.claims = ANNA | {"groups": ["others"]}
    got = await come_back(http, fake)
    assert got.status_code == 403
    assert "The issuer vouches for anna, who has no role in Koken." in got.text
    assert "koken_session" not in http.cookies
    assert await users(house.views) == []


async def test_a_name_that_is_taken_is_nobody_elses(
    doors: Any, fake: FakeIssuer, user: Any
) -> None:
    house, http = doors
    await user(house, "Anna", admin="*")
    fake.claims = ANNA | {"email": "anna@example.com"}
    await come_back(http, fake)
    assert [(each.name, each.issuer) for each in await users(house.views)] == [
        ("Anna", None),
        ("anna@example.com", ISSUER),
    ]
    got = await http.post("/sign-in", data={"name": "anna@example.com", "password": ""})
    assert got.status_code == 401


async def test_who_comes_twice_at_once_for_the_first_time_is_one(open_house: Any) -> None:
    house, _ = await open_house()
    mira = await asyncio.gather(
        *(signins.vouched(house.db, ISSUER, "1", ["mira"], {"*": "viewer"}) for _ in range(8))
    )
    assert {found for found in mira if found and found[1] == "mira"} == {*mira}
    assert len({*mira}) == 1
    several = await asyncio.gather(
        *(
            signins.vouched(house.db, ISSUER, f"t{n}", ["ben", f"ben-{n}"], {"*": "viewer"})
            for n in range(8)
        )
    )
    names = sorted(found[1] for found in several if found)
    assert names[0] == "ben"
    assert len({*names}) == 8


async def test_where_every_name_is_taken_that_is_said(
    doors: Any, fake: FakeIssuer, user: Any
) -> None:
    house, http = doors
    await user(house, "anna")
    await user(house, "248@id.example")
    got = await come_back(http, fake)
    assert got.status_code == 409
    assert "every name that it tells is somebody else&#39;s here: anna, 248@id.example" in got.text
    assert "koken_session" not in http.cookies


async def test_who_was_disabled_stays_out(doors: Any, fake: FakeIssuer) -> None:
    house, http = doors
    await come_back(http, fake)
    await access.disable(house.db, "anna", by="test")
    assert (await http.get("/account")).status_code == 303
    assert (await come_back(http, fake)).status_code == 403


PUBLIC = KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


async def test_an_answer_that_is_not_for_us_lets_nobody_in(doors: Any, fake: FakeIssuer) -> None:
    house, http = doors
    for claims, said in (
        ({"nonce": "another"}, "made for another sign-in"),
        ({"nonce": None}, "made for another sign-in"),
        ({"aud": "another"}, "does not hold"),
        ({"aud": None}, "does not hold"),
        ({"aud": ["koken", "another"]}, "made for another program"),
        ({"aud": ["koken", "another"], "azp": "another"}, "made for another program"),
        ({"iss": "https://evil.example"}, "does not hold"),
        ({"exp": 1_000_000_000}, "does not hold"),
        ({"exp": None}, "does not hold"),
        ({"iat": int(time.time()) + 3600}, "does not hold"),
        ({"sub": None}, "does not hold"),
    ):
        fake.claims = ANNA | claims
        got = await come_back(http, fake)
        assert (claims, got.status_code, said in got.text) == (claims, 403, True)
    assert await users(house.views) == []


async def test_a_signature_that_is_not_the_issuers_lets_nobody_in(
    doors: Any, fake: FakeIssuer
) -> None:
    house, http = doors
    for key, algorithm, kid in (
        (OTHER_KEY, "RS256", "one"),
        (OTHER_KEY, "RS256", "two"),
        (None, "none", "one"),
        (SECRET.encode(), "HS256", "one"),
        (PUBLIC, "HS256", "one"),
    ):
        fake.key, fake.algorithm, fake.headers = key, algorithm, {"kid": kid}
        got = await come_back(http, fake)
        assert (algorithm, kid, got.status_code) == (algorithm, kid, 403)
    for token in (" ", "a.b.c", "nothing", "e30.e30."):
        fake.token = token
        assert (await come_back(http, fake)).status_code == 403
    assert "koken_session" not in http.cookies
    assert await users(house.views) == []
    fake.key, fake.algorithm, fake.headers, fake.token = KEY, "RS256", {"kid": "one"}, ""
    assert (await come_back(http, fake)).status_code == 303


async def test_an_answer_is_good_only_where_and_when_it_was_asked_for(
    doors: Any, fake: FakeIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, http = doors
    there = await http.get("/sign-in/issuer")
    answer = fake.consent(there.headers["location"])
    kept = http.cookies["koken_errand"]
    for changes, cookie in (
        ({"state": "another"}, kept),
        ({"state": ""}, kept),
        ({"iss": "https://evil.example"}, kept),
        ({"code": "guessed"}, kept),
        ({}, ""),
        ({}, kept[:-1]),
        ({}, kept[1:]),
        ({}, "AAAA" + kept),
        ({}, "é.é"),
    ):
        got = await http.get(
            "/sign-in/answer",
            params=answer | changes,
            headers={"Cookie": f"koken_errand={cookie}".encode()},
        )
        assert (changes, cookie, got.status_code) == (changes, cookie, 403)
        assert "koken_session" not in got.headers.get("set-cookie", "")
    late = time.time() + 601
    with monkeypatch.context() as patched:
        patched.setattr(seals.time, "time", lambda: late)
        cookie = {"Cookie": f"koken_errand={kept}"}
        got = await http.get("/sign-in/answer", params=answer, headers=cookie)
        assert got.status_code == 403
    refusal = {"error": "access_denied", "error_description": "<b>no</b>", "state": answer["state"]}
    got = await http.get("/sign-in/answer", params=refusal, headers=cookie)
    assert got.status_code == 403
    assert "The issuer says: &lt;b&gt;no&lt;/b&gt;." in got.text
    got = await http.get("/sign-in/answer", params=answer, headers=cookie)
    assert got.status_code == 303
    got = await http.get("/sign-in/answer", params=answer, headers=cookie)
    assert got.status_code == 403


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"issuer": "https://evil.example"}, "is about another issuer"),
        ({"token_endpoint": "http://id.example/token"}, "does not begin with https://"),
    ],
)
async def test_an_issuer_that_is_not_what_it_should_be_is_not_asked(
    doors: Any, fake: FakeIssuer, facts: dict[str, str], said: str
) -> None:
    _, http = doors
    fake.facts = facts
    got = await http.get("/sign-in/issuer")
    assert (got.status_code, said in got.text) == (403, True)


async def test_an_issuer_that_is_down_is_told_on_the_page(doors: Any, fake: FakeIssuer) -> None:
    _, http = doors
    fake.down = True
    got = await http.get("/sign-in/issuer")
    assert got.status_code == 503
    assert "The issuer id.example does not answer as it should." in got.text


async def test_without_an_issuer_there_is_no_way_to_one(http: httpx.AsyncClient) -> None:
    for path in ("/sign-in/issuer", "/sign-in/answer?code=1&state=2"):
        assert (await http.get(path)).status_code == 404
