"""Events, workspaces, and what waits for somebody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from koken.runtime.worker import Worker
from tests.support.moments import until
from tests.web.api.yard import make, open_yard, problem, start, token

OpenHouse = Callable[..., Any]


async def test_events_come_in_pages_and_narrowed(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    runs = [await start(http, "one") for _ in range(3)]
    for run in runs:
        await http.post(f"/api/v1/runs/{run}/cancellations", json={"reason": f"no {run}"})
    page = (await http.get("/api/v1/events?limit=2&q=verb:cancel")).json()
    assert [row["run"] for row in page["items"]] == [runs[2], runs[1]]
    rest = await http.get(f"/api/v1/events?limit=2&q=verb:cancel&cursor={page['next']}")
    assert [row["run"] for row in rest.json()["items"]] == [runs[0]]
    assert rest.json()["next"] is None
    (one,) = (await http.get(f"/api/v1/events?q=no {runs[1]}")).json()["items"]
    assert (one["by"], one["job"], one["workspace"]) == ("mira", "one", "default")
    for odd in ("verbs:x", "run:x", "since:never", "\x00", "since:"):
        got = await http.get("/api/v1/events", params={"q": odd})
        assert problem(got) == (422, "invalid_arguments"), odd


async def test_events_of_another_workspace_are_not_told(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    run = await start(http, "one")
    await http.post(f"/api/v1/runs/{run}/cancellations")
    await http.post("/api/v1/queues/default/pauses")
    headers = await token(house, "read", workspace="acme")
    seen = (await http.get("/api/v1/events", headers=headers)).json()["items"]
    assert [(row["verb"], row["workspace"]) for row in seen] == [
        ("add token", "acme"),
        ("pause", "GLOBAL"),
    ]


async def test_secrets_in_events_are_masked_at_every_door(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    run = await start(http, "one")
    async with house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.event (workspace_id, run_id, verb, by, detail) values"
            """ (1, 1, 'retry', 'anna', '{"args": {"password": "ebb", "day": 1}}'),"""
            """ (1, 1, 'answer', 'anna', '{"question": "Which password?", "answer": "ebb"}'),"""
            """ (1, 1, 'add token', 'anna', '{"token": "ci"}')"""
        )
    told = [
        {"args": {"password": "•••", "day": 1}},
        {"question": "Which password?", "answer": "•••"},
        {"token": "ci"},
    ]
    rows = (await http.get("/api/v1/events")).json()["items"]
    assert [row["detail"] for row in reversed(rows)] == told
    rows = (await http.get(f"/api/v1/runs/{run}/events")).json()["items"]
    assert [row["detail"] for row in rows] == told
    for page in ("/events", f"/runs/{run}?tab=events"):
        text = (await http.get(page)).text
        assert ("•••" in text, "ebb" in text) == (True, False), page


async def test_workspaces_are_those_that_one_may_look_into(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    await start(http, "one")
    seen = (await http.get("/api/v1/workspaces")).json()["items"]
    assert [(row["name"], row["ready"]) for row in seen] == [("acme", 0), ("default", 1)]
    headers = await token(house, "read", workspace="acme")
    seen = (await http.get("/api/v1/workspaces", headers=headers)).json()["items"]
    assert [row["name"] for row in seen] == ["acme"]


async def test_what_waits_for_somebody(open_house: OpenHouse) -> None:
    program = make()
    house, http = await open_yard(open_house, program=program)
    worker = Worker(program, house.config)
    await worker.start()
    try:
        asks, hears = await start(http, "ask"), await start(http, "listen")

        async def waiting() -> bool:
            lists = [await http.get(f"/api/v1/{name}") for name in ("questions", "signals")]
            return all(got.json()["items"] for got in lists)

        await until(waiting)
        (question,) = (await http.get("/api/v1/questions")).json()["items"]
        assert (question["run"], question["text"], question["to"]) == (
            asks, "May it sail?", "master",
        )  # fmt: skip
        assert question["schema"] == {"type": "boolean"}
        (signal,) = (await http.get("/api/v1/signals")).json()["items"]
        assert (signal["run"], signal["job"], signal["names"]) == (hears, "listen", ["horn"])
    finally:
        await worker.stop(grace=1)
