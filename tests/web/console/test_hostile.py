"""Texts and addresses that are made to do harm: the former stay texts, the latter lead nowhere."""

from __future__ import annotations

from urllib.parse import quote

import httpx
from markupsafe import escape

from koken.web.house import House
from tests.web.console.reading import Page
from tests.web.halma import ALL_HOSTILE
from tests.web.shop import make

ADDRESSES = ("/runs/{}", "/jobs/{}", "/queues/{}", "/errors/{}", "/runs/1/plan/{}", "/{}")
WAYS_OUT = [
    "../pages.py", "%2e%2e/pages.py", "..%2fpages.py", "%2e%2e%2f%2e%2e%2fhouse.py",
    "..%5cpages.py", "%252e%252e/pages.py", "/etc/passwd", "%2fetc%2fpasswd", "koken.css%00.py",
    "./../templates/base.html", "....//pages.py", "",
]  # fmt: skip
HOSTILE = [*ALL_HOSTILE, "'><img src=x onerror=alert(5)>", '" autofocus onfocus="alert(6)']


def said(source: str, text: str) -> bool:
    """Whether a page says a text, and has it nowhere but as a text."""
    return escape(text) in source and (escape(text) == text or text not in source)


async def test_what_somebody_gives_is_said_and_nothing_else(
    house: House, http: httpx.AsyncClient
) -> None:
    report = make().registry.get("report")
    for text in HOSTILE:
        args = {"customer": {"name": text, "number": 7}}
        run = await house.client.start_bound(report, args)
        await house.client.cancel(run.id, reason=text)
        at = f"/runs/{run.id}"
        for path in (at, f"{at}?tab=values", f"{at}?tab=events", "/runs", "/events",
                     f"/jobs/report/start?from_run={run.id}"):  # fmt: skip
            got = await http.get(path)
            assert (path, got.status_code) == (path, 200)
            links = Page(got.text).links.values()
            assert not [link for link in links if link.startswith("javascript:")], path
            assert text not in got.text or escape(text) == text, path
        found = (await http.get(at, params={"tab": "log", "log_q": text})).text
        assert said(found, text)
        assert said((await http.get("/runs", params={"q": f"x{text}"})).text, text)


async def test_an_address_that_leads_nowhere_says_so(http: httpx.AsyncClient) -> None:
    for text in HOSTILE:
        for path in ADDRESSES:
            got = await http.get(path.format(quote(text, safe="")))
            assert got.status_code in (404, 405), (path, text)
            assert escape(text) == text or text not in got.text, (path, text)


async def test_only_what_is_meant_to_be_served_is(http: httpx.AsyncClient) -> None:
    for way in WAYS_OUT:
        got = await http.get(f"/static/{way}")
        assert (way, got.status_code) == (way, 404)
        assert "StrictUndefined" not in got.text


async def test_the_way_back_is_on_this_site(http: httpx.AsyncClient) -> None:
    for back in (
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
    ):
        got = await http.get("/zone", params={"to": "Asia/Tokyo", "back": back})
        assert (got.status_code, got.headers["location"]) == (303, "/")
