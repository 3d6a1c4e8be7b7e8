"""The description: answers have what it says and no more, and so have requests."""

from __future__ import annotations

import re

import httpx

from koken.runtime.worker import Worker
from tests.support.moments import until
from tests.web.api.yard import start
from tests.web.described import undescribed

API = "/api/v1"
ENDLESS = "/stream"
NAMES = {"job": "nightly", "queue": "default", "key": "a", "hook": "a"}
"""What stands for a slot of a path; else it is 1."""


def test_what_nobody_has_described_is_told_by_its_place() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = {
        "type": "object",
        "additionalProperties": True,
        "properties": {"some": {"items": {"anyOf": [inner, {"type": "null"}]}}, "args": {}},
    }
    value = {"some": [{"a": "x", "b": 1}, None], "args": {"any": 1}, "more": {}}
    assert sorted(undescribed(value, schema)) == [".more", ".some[].b"]


async def test_all_that_can_be_looked_at_is_as_described(
    http: httpx.AsyncClient, worker: Worker
) -> None:
    """``http`` compares each answer with the description."""
    run = await start(http, "nightly", day="bad")

    async def failed() -> bool:
        return bool((await http.get(f"{API}/runs/{run}")).json()["state"] == "failed")

    await until(failed)
    await http.post(f"{API}/runs/{run}/acknowledgements", json={"reason": "seen"})
    described = (await http.get(f"{API}/openapi.json")).json()
    found = []
    for path, operations in described["paths"].items():
        if "get" in operations and not path.endswith(ENDLESS):
            filled = re.sub(r"\{(\w+)\}", lambda slot: NAMES.get(slot[1], "1"), path)
            got = await http.get(f"{API}{filled}", params={"q": ""} if "preview" in path else {})
            found += [path] * (got.status_code == 200)
    assert len(found) > 35
    assert {"/runs/{run}/steps", "/runs/{run}/attempts", "/workers", "/runs/{run}/graph"} < {*found}


async def test_parameters_are_those_that_a_route_reads(http: httpx.AsyncClient) -> None:
    paths = (await http.get(f"{API}/openapi.json")).json()["paths"]

    def parameters(path: str, method: str = "get") -> set[str]:
        return {each["name"] for each in paths[path][method]["parameters"]}

    assert {"seen", "Last-Event-ID"} < parameters("/runs/{run}/stream")
    assert {"seen", "tail", "step"} < parameters("/runs/{run}/logs/stream")
    assert "Koken-Workspace" not in parameters("/hooks/{hook}", "post")
    assert "Koken-Workspace" in parameters("/hooks/{hook}/rotations", "post")
