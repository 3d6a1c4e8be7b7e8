"""Secrets stay inside, by whatever way somebody asks for them."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

import koken
from koken.engine.accesstokens import make
from koken.web.house import House
from koken.web.masking import MASK, masked_text

SECRET = "hunter-2-XYZ"


class Account(BaseModel):
    user: str = "u"
    password: str = SECRET


ACCOUNT = Account()


def program() -> koken.App:
    app = koken.App("vault")

    @app.job
    def login(account: Account = ACCOUNT, password: str = "") -> None:
        """Sign in somewhere."""

    return app


@pytest.fixture
async def doors(
    database_url: str, monkeypatch: pytest.MonkeyPatch, open_house: Callable[..., Any]
) -> tuple[House, httpx.AsyncClient]:
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    return await open_house(program=program())


async def start(http: httpx.AsyncClient, **more: Any) -> httpx.Response:
    return await http.post(
        "/api/v1/runs", json={"job": "login", "args": {"password": SECRET}, **more}
    )


async def test_a_default_inside_a_model_is_not_published(doors: Any) -> None:
    _, http = doors
    await start(http)
    for path in ("/jobs", "/jobs/login", "/jobs/login/versions/1"):
        got = await http.get(f"/api/v1{path}")
        assert got.status_code == 200
        assert SECRET not in got.text
        assert MASK in got.text
    assert SECRET not in (await http.get("/jobs/login/start")).text


@pytest.mark.parametrize("query", ["args.password:x", "args.account.password:x", "args.api_key:x"])
async def test_a_query_does_not_guess_secrets(doors: Any, query: str) -> None:
    _, http = doors
    await start(http)
    word = query.partition(":")[0]
    for path in ("runs", "bulks/preview"):
        got = await http.get(f"/api/v1/{path}", params={"q": query})
        assert (got.status_code, got.json().get("problems")) == (
            422,
            {"q": f"{word} is a secret, and is not looked for"},
        )
    given = {"verb": "retry", "q": query, "reason": "x"}
    assert (await http.post("/api/v1/bulks", json=given)).status_code == 422
    assert (await http.get("/runs", params={"q": query})).status_code == 422
    assert (await http.get("/api/v1/runs", params={"q": "args.user:x"})).status_code == 200


async def test_an_error_does_not_repeat_what_was_given(doors: Any) -> None:
    _, http = doors
    args = {"password": {"x": SECRET}, "account": {"password": [SECRET]}}
    got = await http.post("/api/v1/runs", json={"job": "login", "args": args})
    assert got.status_code == 422
    assert SECRET not in got.text
    assert got.json()["problems"]["password"] == "does not fit"


async def test_who_may_only_start_is_not_told_of_an_earlier_run(doors: Any) -> None:
    house, http = doors
    first = (await start(http, idempotency_key="k")).json()
    token = await make(house.db, "starter", ["start"], by="test")
    house.credentials.forget()
    got = await http.post(
        "/api/v1/runs",
        json={"job": "login", "args": {"password": SECRET}, "idempotency_key": "k"},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert got.status_code == 200
    assert sorted(got.json()) == ["id", "job", "state", "url"]
    assert got.json()["id"] == first["id"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (json.dumps({"password": SECRET, "n": 1}), '{"password":"•••","n":1}'),
        ('{"password": "hunt…', MASK),
        ("214 files", "214 files"),
    ],
)
def test_secrets_inside_of_texts(text: str, shown: str) -> None:
    assert masked_text(text, ("password",)) == shown


async def test_a_cursor_that_somebody_made_up(doors: Any) -> None:
    _, http = doors
    text = b'"abc"'
    for of in ("jobs default ", "locks default "):
        front = hashlib.blake2b(of.encode() + b"\0" + text, digest_size=6).digest()
        forged = urlsafe_b64encode(front + text).decode().rstrip("=")
        for path in ("jobs", "locks", "schedules", "questions"):
            got = await http.get(f"/api/v1/{path}", params={"cursor": forged})
            assert (path, got.status_code) == (path, 422)
