"""A query parameter that a route does not know is refused, whatever the route."""

from __future__ import annotations

import re

import httpx

from tests.web.api.yard import problem, start

API = "/api/v1"


async def test_no_route_passes_over_what_it_does_not_know(http: httpx.AsyncClient) -> None:
    described = (await http.get(f"{API}/openapi.json")).json()
    routes = [
        (method.upper(), re.sub(r"\{\w+\}", "1", path))
        for path, operations in described["paths"].items()
        for method in operations
    ]
    assert len(routes) > 90
    for method, path in routes:
        got = await http.request(method, f"{API}{path}", params={"moon": "1"})
        assert (problem(got), got.json()["problems"]) == (
            (422, "invalid_arguments"), {"moon": "is no parameter of this request"},
        ), (method, path)  # fmt: skip


async def test_a_misspelt_filter_is_told_with_those_that_there_are(http: httpx.AsyncClient) -> None:
    got = await http.get(f"{API}/runs", params={"state": "failed", "limit": "5"})
    assert got.json()["detail"] == (
        "state is no parameter of this request. It has before, cursor, limit, q"
    )
    got = await http.get(f"{API}/runs/1/why", params={"tail": "5"})
    assert got.json()["detail"] == "tail is no parameter of this request. It has none"


async def test_what_has_no_plan_is_not_done_where_a_plan_was_asked_for(
    http: httpx.AsyncClient,
) -> None:
    run = await start(http, "greet")
    for path in (f"/runs/{run}/cancellations", f"/runs/{run}/acknowledgements", "/bulks"):
        got = await http.post(f"{API}{path}?dry_run=1", json={"reason": "look first"})
        assert (problem(got), list(got.json()["problems"])) == (
            (422, "invalid_arguments"), ["dry_run"],
        ), path  # fmt: skip
    assert (await http.get(f"{API}/runs/{run}")).json()["state"] == "ready"
