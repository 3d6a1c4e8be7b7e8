"""Pages looked at and their forms sent, as somebody."""

from __future__ import annotations

import httpx

from koken.web.access import seals
from koken.web.access.principal import Kind, Principal
from koken.web.house import House
from tests.web.console.reading import Page
from tests.web.forms import hidden


async def look(http: httpx.AsyncClient, url: str, **headers: str) -> Page:
    """A page that is there."""
    got = await http.get(url, headers=headers)
    assert got.status_code == 200, got.text
    return Page(got.text)


async def press(
    http: httpx.AsyncClient,
    page: str,
    url: str,
    data: dict[str, str | list[str]] | None = None,
    **headers: str,
) -> httpx.Response:
    """Send a form of a page."""
    csrf = hidden((await http.get(page, headers=headers)).text, "csrf")
    return await http.post(url, data={"csrf": csrf, **(data or {})}, headers=headers)


async def as_user(house: House, name: str) -> dict[str, str]:
    """Headers by which the proxy vouches for somebody, with what their forms bring back."""
    key = await house.credentials.key()
    return {
        "X-User": name,
        "Koken-Csrf": seals.csrf(key, Principal(name=name, kind=Kind.PROXY)),
    }
