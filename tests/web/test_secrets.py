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
from koken import AsyncContext
from koken.engine.tokens import make
from koken.errors import InvalidArguments
from koken.model.web import MASKED
from koken.runtime.worker import Worker
from koken.web.house import House
from koken.web.masking import MASK, masked_text, without_values
from koken.web.specs import form_shown
from tests.web.forms import hidden

SECRET = "hunter-2-XYZ"


class Account(BaseModel):
    user: str = "u"
    password: str = SECRET


ACCOUNT = Account()
MORE = {"api_key": SECRET}


async def found() -> dict[str, str]:
    return {"user": "u", "password": SECRET}


def program() -> koken.App:
    app = koken.App("vault")

    @app.job
    def login(account: Account = ACCOUNT, password: str = "", more: dict[str, str] = MORE) -> None:
        """Sign in somewhere."""

    @app.job
    async def fetch(ctx: AsyncContext) -> None:
        """Look up an account."""
        await ctx.step("sign_in", found)

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
    for page in ("", "/start", "/start?as=json", "?tab=versions", "?tab=arguments"):
        got = await http.get(f"/jobs/login{page}")
        assert (page, got.status_code) == (page, 200)
        assert SECRET not in got.text
    args = {"more": {"api_key": SECRET, "n": "1"}}
    run = (await http.post("/api/v1/runs", json={"job": "login", "args": args})).json()["id"]
    for way in ("fields", "json"):
        got = await http.get("/jobs/login/start", params={"from_run": run, "as": way})
        assert SECRET not in got.text
        assert "&#34;n&#34;: &#34;1&#34;" in got.text


def test_no_value_of_a_secret_field_is_left_in_a_schema() -> None:
    form = {
        "properties": {
            "password": {"anyOf": [{"enum": ["a", "b"]}, {"const": "c"}], "examples": ["d"]},
            "default": {"properties": {"token": {"type": "string", "default": "e"}}},
        },
        "$defs": {"Acct": {"examples": [{"user": "u", "token": "f"}], "const": {"secret": "g"}}},
        "default": {"account": {"password": "h"}},
    }
    assert form_shown(form, MASKED) == {
        "properties": {
            "password": {"anyOf": [{"enum": [MASK, MASK]}, {"const": MASK}], "examples": [MASK]},
            "default": {"properties": {"token": {"type": "string", "default": MASK}}},
        },
        "$defs": {"Acct": {"examples": [{"user": "u", "token": MASK}], "const": {"secret": MASK}}},
        "default": {"account": {"password": MASK}},
    }


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
    for path in ("/bulks/preview", "/runs"):
        page = await http.get(path, params={"q": query})
        assert (path, page.status_code) == (path, 422)
    assert (await http.get("/api/v1/bulks")).json()["items"] == []
    assert (await http.get("/api/v1/runs", params={"q": "args.user:x"})).status_code == 200


async def test_a_query_does_not_guess_secrets_by_what_they_lie_in(doors: Any) -> None:
    _, http = doors
    args = {"more": {"api_key": SECRET, "n": "1"}}
    run = (await http.post("/api/v1/runs", json={"job": "login", "args": args})).json()["id"]
    for query, found in (
        (f'args.more:{{"n": "1", "api_key": "{SECRET}"}}', []),
        (f'args.more:"{{\\"n\\": \\"1\\", \\"api_key\\": \\"{SECRET}\\"}}"', []),
        ("args.more.n:1", [run]),
    ):
        got = await http.get("/api/v1/runs", params={"q": query})
        assert [each["id"] for each in got.json()["items"]] == found, query


async def test_an_error_does_not_repeat_what_was_given(doors: Any) -> None:
    _, http = doors
    args = {"password": {"x": SECRET}, "account": {"password": [SECRET]}}
    got = await http.post("/api/v1/runs", json={"job": "login", "args": args})
    assert got.status_code == 422
    assert SECRET not in got.text
    assert got.json()["problems"]["password"] == "does not fit"
    assert SECRET[:6] not in got.json()["detail"]


@pytest.mark.parametrize(
    ("path", "text", "shown"),
    [
        ("password", "'hunter' is not a whole number", "does not fit"),
        ("rows[1].account.api_key", "{'x': 's'} is not text", "does not fit"),
        ("account", "{'password': 's'} is not text", "does not fit"),
        ("account", "{'user': 's'} is not text", "{'user': 's'} is not text"),
        ("password", "is missing", "is missing"),
        ("passwort", "is not an argument. Did you mean password?", None),
    ],
)
def test_what_a_problem_says(path: str, text: str, shown: str | None) -> None:
    error = without_values(InvalidArguments(f"login: ({path}): {text}.", {path: text}), MASKED)
    assert error.problems == {path: shown or text}
    assert str(error) == f"login: ({path}): {shown or text}."


async def test_the_start_form_does_not_repeat_what_was_given(doors: Any) -> None:
    _, http = doors
    await start(http)
    page = await http.get("/jobs/login/start?as=json")
    form = {"csrf": hidden(page.text, "csrf"), "as": "json"}
    given = json.dumps({"password": {"x": SECRET}})
    got = await http.post("/jobs/login/start", data=form | {"json": given})
    assert got.status_code == 422
    assert "does not fit" in got.text
    assert "is not text" not in got.text


async def test_who_may_only_start_is_not_told_of_an_earlier_run(doors: Any) -> None:
    house, http = doors
    first = (await start(http, idempotency_key="k")).json()
    token = await make(house.db, "starter", ["start"], by="test")
    house.credentials.forget()
    got = await http.post(
        "/api/v1/runs",
        json={"job": "login", "args": {"password": SECRET}, "idempotency_key": "k"},
        headers={"Authorization": f"Bearer {token.token}"},
    )
    assert got.status_code == 200
    assert sorted(got.json()) == ["id", "job", "state", "url"]
    assert got.json()["id"] == first["id"]


@pytest.mark.parametrize(
    ("text", "name", "shown"),
    [
        (json.dumps({"password": SECRET, "n": 1}), "load", '{"password":"•••","n":1}'),
        ('{"password": "hunt…', "load", MASK),
        ('"hunter"', "password", MASK),
        ('handle {"password": 1}, submitted once', "send", MASK),
        ("214 files", "load", "214 files"),
        ("214 passwords", "passwords", "214 passwords"),
    ],
)
def test_secrets_inside_of_texts(text: str, name: str, shown: str) -> None:
    assert masked_text(text, ("password",), name) == shown


async def test_what_steps_have_come_to_is_masked(doors: Any) -> None:
    house, http = doors
    run = (await http.post("/api/v1/runs", json={"job": "fetch"})).json()["id"]
    worker = Worker(program(), house.config)
    await worker.start()
    await house.client.wait(int(run), timeout=20)
    await worker.stop(grace=1)
    steps = await http.get(f"/api/v1/runs/{run}/steps")
    assert [(row["name"], row["result"]) for row in steps.json()["items"]] == [
        ("sign_in", '{"user":"u","password":"•••"}')
    ]
    page = await http.get(f"/runs/{run}?tab=steps")
    assert page.status_code == 200
    for got in (steps, page):
        assert SECRET not in got.text


async def test_a_cursor_that_somebody_made_up(doors: Any) -> None:
    _, http = doors
    text = b'"abc"'
    for of in ("jobs default ", "locks default "):
        front = hashlib.blake2b(of.encode() + b"\0" + text, digest_size=6).digest()
        forged = urlsafe_b64encode(front + text).decode().rstrip("=")
        for path in ("jobs", "locks", "schedules", "questions"):
            got = await http.get(f"/api/v1/{path}", params={"cursor": forged})
            assert (path, got.status_code) == (path, 422)
