from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import httpx
import pytest
from pydantic import Field

import koken
from koken.views.suggestions import last_word
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
        ("arg", ["args."]),
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


async def test_arguments_are_suggested_by_name_and_by_value_but_no_secrets(
    house: House, http: httpx.AsyncClient
) -> None:
    app = make()
    report = app.registry.get("report")
    await house.client.start_bound(app.registry.get("nightly"), {"day": "soon"})
    for number, day in ((7, "2026-11-30"), (7, "2026-12-01"), (8, "2026-12-01")):
        customer = {"name": "Ada", "number": number}
        await house.client.start_bound(
            report, {"day": day, "customer": customer, "password": "s3cret"}
        )
    assert await texts(http, "args.") == ["args.customer:", "args.day:", "args.size:"]
    got = (await http.get("/complete", params={"q": "args.d"})).json()
    assert got["items"][0] == {"text": "args.day:", "what": "nightly and 1 more"}
    assert await texts(http, "args.customer.") == ["args.customer.name:", "args.customer.number:"]
    assert await texts(http, "args.day:2") == ["args.day:2026-12-01", "args.day:2026-11-30"]
    assert await texts(http, "args.customer.number:7,") == ["args.customer.number:7,8"]
    assert await texts(http, "args.customer:") == []
    assert await texts(http, "args.password:") == []
    assert await texts(http, "args.password:s3") == []


async def test_what_a_type_calls_secret_is_not_suggested(open_house: Callable[..., Any]) -> None:
    app = koken.App("doors")

    @app.job
    def unlock(
        door: str, pin: Annotated[str, Field(json_schema_extra={"writeOnly": True})]
    ) -> None:
        """Open a door."""

    house, http = await open_house(program=app)
    await house.client.start(unlock, door="front", pin="4711")
    assert await texts(http, "args.door:") == ["args.door:front"]
    assert await texts(http, "args.pin:") == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", ""),
        ("job:a st", "st"),
        ("job:a ", ""),
        ('job:"a b', 'job:"a b'),
        ('job:"a b" x', "x"),
        ('job:"a \\" b', 'job:"a \\" b'),
        ('"' * 1000 + "\\\nx", "x"),
        ('"' * 1001 + "\\\nx", '"' * 1001 + "\\\nx"),
    ],
)
def test_the_word_in_which_a_query_ends(text: str, word: str) -> None:
    assert last_word(text) == word


@pytest.mark.parametrize("page", ["jobs", "runs", "events", "schedules", "bulks/preview"])
async def test_a_query_has_a_limit(http: httpx.AsyncClient, page: str) -> None:
    assert (await http.get(f"/{page}", params={"q": "a" * 2001})).status_code == 422
