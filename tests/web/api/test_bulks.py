"""What is done to many runs, over HTTP."""

from __future__ import annotations

import httpx
import pytest

from koken.web.house import House
from tests.web.api.yard import problem, token

BULKS = "/api/v1/bulks"
RUNS = "/api/v1/runs"


@pytest.fixture
async def waiting(http: httpx.AsyncClient) -> None:
    """Three runs that nobody has begun."""
    await http.post(f"{RUNS}/batch", json={"job": "greet", "rows": [{}] * 3})


@pytest.mark.usefixtures("waiting")
async def test_a_preview_and_a_bulk(http: httpx.AsyncClient) -> None:
    asked = {"q": "job:greet", "verb": "cancel"}
    seen = (await http.get(f"{BULKS}/preview", params=asked)).json()
    assert [each["id"] for each in seen.pop("first")] == ["1", "2", "3"]
    assert seen == {"runs": 3, "jobs": {"greet": 3}, "foreseen": 3, "refusals": {}}
    nothing = (await http.get(f"{BULKS}/preview", params={"q": "job:greet"})).json()
    assert nothing == {"runs": 0, "jobs": {}, "first": [], "foreseen": 0, "refusals": {}}
    body = {**asked, "rate": "60/m", "reason": "wrong"}
    got = await http.post(BULKS, json=body, headers={"Idempotency-Key": "b"})
    assert (got.status_code, got.headers["location"]) == (201, "/api/v1/bulks/1")
    plain = got.json()
    plain.pop("created_at")
    assert plain == {
        "id": "1",
        "verb": "cancel",
        "query": "job:greet",
        "rate": 1.0,
        "by": "mira",
        "reason": "wrong",
        "state": "running",
        "total": 3,
        "done": 0,
        "going": 0,
        "recovered": 0,
        "failed_again": 0,
        "refused": 0,
        "stopped_reason": None,
        "finished_at": None,
    }
    assert (await http.post(BULKS, json=body, headers={"Idempotency-Key": "b"})).text == got.text
    paused = await http.post(f"{BULKS}/1/pauses", json={"reason": "look"})
    assert paused.json()["state"] == "paused"
    assert problem(await http.post(f"{BULKS}/1/pauses")) == (409, "refused")
    assert (await http.post(f"{BULKS}/1/resumptions")).json()["state"] == "running"
    stopped = (await http.post(f"{BULKS}/1/stops", json={"reason": "enough"})).json()
    assert (stopped["state"], stopped["stopped_reason"]) == ("stopped", "enough")
    assert (await http.get(f"{BULKS}/1/refusals")).json() == {"items": [], "next": None}


@pytest.mark.usefixtures("waiting")
async def test_bulks_are_of_their_workspace(house: House) -> None:
    http: httpx.AsyncClient = house.http
    for _ in range(2):
        await http.post(BULKS, json={"verb": "cancel", "q": "job:greet", "reason": "wrong"})
    page = (await http.get(BULKS, params={"limit": 1})).json()
    rest = (await http.get(BULKS, params={"limit": 1, "cursor": page["next"]})).json()
    assert [each["id"] for each in (*page["items"], *rest["items"])] == ["2", "1"]
    assert rest["next"] is None
    await house.client.using(workspace="acme").start(house.registry.get("greet"))
    acme = await token(house, "read", "operate", workspace="acme")
    assert (await http.get(BULKS, headers=acme)).json()["items"] == []
    for path in ("1", "1/refusals"):
        assert problem(await http.get(f"{BULKS}/{path}", headers=acme)) == (404, "not_found")
    assert problem(await http.post(f"{BULKS}/1/stops", headers=acme)) == (404, "not_found")
    asked = {"q": "state:live", "verb": "cancel"}
    seen = (await http.get(f"{BULKS}/preview", params=asked, headers=acme)).json()
    assert [each["workspace"] for each in seen["first"]] == ["acme"]
    viewer = await token(house, "read", name="viewer")
    body = {"verb": "cancel", "q": "state:live", "reason": "x"}
    assert problem(await http.post(BULKS, json=body, headers=viewer)) == (403, "forbidden")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"q": " ", "reason": "x"}, None),
        ({"q": "job:greet", "reason": ""}, None),
        ({"q": "job:greet"}, "reason"),
        ({"q": "jo:greet", "reason": "x"}, "jo"),
        ({"q": "job:greet", "reason": "x", "rate": "quick"}, None),
    ],
)
async def test_what_cannot_be(
    http: httpx.AsyncClient, body: dict[str, str], place: str | None
) -> None:
    got = await http.post(BULKS, json={"verb": "cancel", **body})
    assert problem(got) == (422, "invalid_arguments")
    assert list(got.json()["problems"]) == ([] if place is None else [place])
