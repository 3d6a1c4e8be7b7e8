from __future__ import annotations

from pathlib import Path

import httpx

import koken
from koken.model.states import State

OTHER_CROSSES = "✕✖"


async def test_static_files_are_served(http: httpx.AsyncClient) -> None:
    got = await http.get("/static/koken.css")
    assert (got.status_code, got.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert ".look-failed" in got.text


async def test_the_api_describes_itself(http: httpx.AsyncClient) -> None:
    got = await http.get("/api/v1/openapi.json")
    assert got.json()["info"]["title"] == "Koken"


def test_what_has_failed_has_one_sign_everywhere() -> None:
    assert State.FAILED.glyph == "✗"
    for path in Path(koken.__file__).parent.rglob("*"):
        if path.suffix in (".py", ".html", ".css", ".js") and "-" not in path.name:
            found = [sign for sign in OTHER_CROSSES if sign in path.read_text()]
            assert not found, path


async def test_the_workspace_leads_to_all_of_them(http: httpx.AsyncClient) -> None:
    got = await http.get("/jobs")
    assert '<a class="workspace" href="/workspaces"' in got.text
