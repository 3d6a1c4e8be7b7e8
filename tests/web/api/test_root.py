"""The root of the API, from which all else is found."""

from __future__ import annotations

from importlib.metadata import version

import httpx


async def test_the_root_leads_on(http: httpx.AsyncClient) -> None:
    got = await http.get("/api/v1")
    plain = got.json()
    assert (got.status_code, plain["version"]) == (200, version("koken"))
    assert plain["description"] == "http://127.0.0.1:7070/api/v1/openapi.json"
    assert plain["links"]["runs"] == "http://127.0.0.1:7070/api/v1/runs"
    assert "" not in plain["links"]
    assert (await http.get("/api/v1/")).json() == plain
    assert (await http.get(plain["description"])).json()["openapi"].startswith("3.1")
    assert '<a href="/api/v1/openapi.json">the HTTP API</a>' in (await http.get("/")).text
