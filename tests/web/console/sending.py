"""Forms of pages as tests send them."""

from __future__ import annotations

import re
from typing import Any

import httpx

from koken.model.web import Web

VIEWERS = Web(
    proxy_header="X-User",
    proxy_trusted=("127.0.0.1",),
    roles={"vera": {"*": "viewer"}, "otto": {"*": "operator"}},
)
"""A proxy vouches for vera, who looks, and otto, who acts."""


def hidden(source: str, name: str) -> str:
    """The value of a hidden field of a page."""
    found = re.search(rf'name="{name}" value="([^"]*)"', source)
    assert found, f"no field {name}"
    return found[1]


async def sent(
    http: httpx.AsyncClient, form: str, values: dict[str, Any], to: str = "", **options: Any
) -> httpx.Response:
    """Send values to ``to``, with what the page ``form`` has in its hidden fields."""
    source = (await http.get(form, **options)).text
    given = {"csrf": hidden(source, "csrf")}
    if 'name="once"' in source:
        given["once"] = hidden(source, "once")
    return await http.post(to or form, data=given | values, **options)
