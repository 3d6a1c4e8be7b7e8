"""Forms of pages as tests send them."""

from __future__ import annotations

from typing import Any

import httpx

from koken.model.web import Web
from tests.web.forms import hidden

VIEWERS = Web(
    proxy_header="X-User",
    proxy_trusted=("127.0.0.1",),
    roles={"vera": {"*": "viewer"}, "otto": {"*": "operator"}},
)
"""A proxy vouches for vera, who looks, and otto, who acts."""


async def sent(
    http: httpx.AsyncClient, form: str, values: dict[str, Any], to: str = "", **options: Any
) -> httpx.Response:
    """Send values to ``to``, with what the page ``form`` has in its hidden fields."""
    source = (await http.get(form, **options)).text
    given = {"csrf": hidden(source, "csrf")}
    if 'name="once"' in source:
        given["once"] = hidden(source, "once")
    return await http.post(to or form, data=given | values, **options)
