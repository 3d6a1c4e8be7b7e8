"""People and programs that ask at the doors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher

from koken.engine import access, tokens
from koken.web.access import passwords
from koken.web.house import House
from tests.web.forms import hidden

PASSWORD = "tulips in spring"
Asks = Callable[..., Awaitable[Any]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that cost nothing; what they are otherwise is the library's business."""
    monkeypatch.setattr(passwords, "HASHER", PasswordHasher(1, 8, 1))
    passwords.nobodys.cache_clear()


@pytest.fixture
def user() -> Asks:
    """Makes a user: ``await user(house, "anna", admin="*", viewer="acme")``."""

    async def make(house: House, name: str, password: str = PASSWORD, **places: str) -> None:
        await access.add_user(house.db, name, passwords.hashed(password, name), by="test")
        for role, workspace in places.items():
            await access.give_role(house.db, name, role, workspace=workspace, by="test")
        house.credentials.forget()

    return make


@pytest.fixture
def token() -> Asks:
    """Makes a token and gives the header that shows it: ``await token(house, "read")``."""

    async def make(house: House, *rights: str, **options: Any) -> dict[str, str]:
        name = options.pop("name", "ci")
        made = await tokens.make(house.db, name, rights, by="test", **options)
        house.credentials.forget()
        return {"Authorization": f"Bearer {made.token}"}

    return make


@pytest.fixture
def browser() -> Asks:
    """Signs somebody in, and gives a client that keeps the cookies."""

    async def signed_in(
        http: httpx.AsyncClient, name: str, password: str = PASSWORD
    ) -> httpx.AsyncClient:
        client = httpx.AsyncClient(transport=http._transport, base_url=http.base_url)
        got = await client.post("/sign-in", data={"name": name, "password": password, "next": "/"})
        assert got.status_code == 303, got.text
        return client

    return signed_in


async def csrf(client: httpx.AsyncClient) -> str:
    """What the forms of a page bring back."""
    return hidden((await client.get("/account")).text, "csrf")


def form(name: str = "anna", password: str = PASSWORD, back: str = "/") -> dict[str, str]:
    """What somebody types on the page on which they sign in."""
    return {"name": name, "password": password, "next": back}
