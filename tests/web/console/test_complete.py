from __future__ import annotations

import httpx
import pytest

from koken.web.house import House
from tests.web.shop import make


async def texts(http: httpx.AsyncClient, q: str, at: int | None = None) -> list[str]:
    got = await http.get("/complete", params={"q": q, "at": len(q) if at is None else at})
    assert got.status_code == 200
    return [item["text"] for item in got.json()["items"]]


async def test_an_empty_box_has_the_words(http: httpx.AsyncClient) -> None:
    got = (await http.get("/complete")).json()
    assert got["items"][:2] == [
        {"text": "job:", "what": "the job's name"},
        {"text": "state:", "what": "how it stands"},
    ]


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("st", ["state:"]),
        ("state:fa", ["state:failed"]),
        ("state:failed,l", ["state:failed,live"]),
        ("trigger:s", ["trigger:schedule", "trigger:signal", "trigger:system"]),
        ("since:2", ["since:2h", "since:24h"]),
        ("args.customer.id:7", []),
        ("nonsense:x", []),
    ],
)
async def test_what_is_known_is_suggested(
    http: httpx.AsyncClient, typed: str, suggested: list[str]
) -> None:
    assert await texts(http, typed) == suggested


async def test_jobs_queues_and_people_are_those_that_there_are(
    house: House, http: httpx.AsyncClient
) -> None:
    app = make()
    client = house.client.using(by="lea")
    await client.start(app.registry.get("report"))
    await client.start(app.registry.get("greet"))
    await house.client.using(workspace="acme", by="kim").start(app.registry.get("greet"))
    assert await texts(http, "job:r") == ["job:report", "job:greet"]
    assert await texts(http, "repo") == ["job:report"]
    assert await texts(http, "queue:") == ["queue:default", "queue:reports"]
    assert await texts(http, "by:") == ["by:lea"]
    assert await texts(http, 'by:"l') == ["by:lea"]


async def test_the_word_at_the_cursor_is_completed(http: httpx.AsyncClient) -> None:
    got = (await http.get("/complete", params={"q": "state:fa since:2h", "at": 8})).json()
    assert (got["start"], got["end"]) == (0, 8)
    assert [item["text"] for item in got["items"]] == ["state:failed"]
