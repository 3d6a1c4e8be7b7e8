from __future__ import annotations

import httpx


async def test_static_files_are_served(http: httpx.AsyncClient) -> None:
    got = await http.get("/static/koken.css")
    assert (got.status_code, got.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert ".look-failed" in got.text


async def test_the_api_describes_itself(http: httpx.AsyncClient) -> None:
    got = await http.get("/api/v1/openapi.json")
    assert got.json()["info"]["title"] == "Koken"
