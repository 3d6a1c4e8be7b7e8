"""Queues and workers over HTTP, and what one workspace may know of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from koken.engine import register
from koken.engine.register import Label
from tests.web.api.yard import open_yard, problem, start, token

OpenHouse = Callable[..., Any]


async def test_a_queue_is_made_limited_paused_and_goes_on(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    asked = {"limit": 4, "rate": "600/m", "reason": "x"}
    got = await http.put("/api/v1/queues/night", json=asked)
    assert problem(got) == (404, "not_found")
    got = await http.put("/api/v1/queues/night", json=asked | {"create": True})
    assert got.json() == {
        "name": "night", "running": 0, "ready": 0, "slots": 0, "limit": 4, "rate": 10.0,
        "burst": 1, "full": False, "taken_for": None, "paused_at": None, "paused_by": None,
        "pause_reason": None,
    }  # fmt: skip
    got = await http.put("/api/v1/queues/night", json={"rate": None})
    assert (got.json()["limit"], got.json()["rate"]) == (4, None)
    got = await http.post("/api/v1/queues/night/pauses", json={"reason": "db move"})
    assert (got.json()["paused_by"], got.json()["pause_reason"]) == ("mira", "db move")
    again = await http.post("/api/v1/queues/night/pauses", json={"reason": "another"})
    assert again.json()["pause_reason"] == "db move"
    assert (await http.post("/api/v1/queues/night/resumptions")).json()["paused_at"] is None
    told = (await http.get("/api/v1/events?q=by:mira")).json()["items"]
    assert [(row["verb"], row["reason"], row["workspace"]) for row in told] == [
        ("resume", None, "GLOBAL"),
        ("pause", "db move", "GLOBAL"),
        ("queue", None, "GLOBAL"),
        ("queue", "x", "GLOBAL"),
    ]


NO_LIMITS: tuple[Any, ...] = (
    {}, {"limit": -1}, {"limit": 2**40}, {"limit": "4"}, {"rate": 0}, {"rate": "often"},
    {"rate": -3}, {"rate": 1e300}, {"limit": 1, "colour": "red"}, {"limit": True}, [1],
)  # fmt: skip


async def test_limits_that_are_none(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    for body in NO_LIMITS:
        got = await http.put("/api/v1/queues/default", json=body)
        assert problem(got) == (422, "invalid_arguments"), body


async def test_queues_that_are_none(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    assert problem(await http.get("/api/v1/queues/none")) == (404, "not_found")
    assert problem(await http.post("/api/v1/queues/none/pauses")) == (404, "not_found")
    got = await http.put("/api/v1/queues/a b", json={"limit": 1})
    assert problem(got) == (422, "invalid_arguments")


async def test_a_workspace_is_told_of_its_own_runs_only(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    for _ in range(3):
        await start(http, "one")
    theirs = await token(house, "read", "operate", workspace="acme", name="acme")
    all_of_it = await token(house, "read", "operate", name="house")
    seen = (await http.get("/api/v1/queues/default", headers=theirs)).json()
    assert (seen["ready"], seen["running"]) == (0, 0)
    mine = (await http.get("/api/v1/queues/default?everywhere=1", headers=all_of_it)).json()
    assert mine["ready"] == 3
    for path in ("/queues?everywhere=1", "/workers?everywhere=1", "/doctor", "/prunable"):
        assert problem(await http.get(f"/api/v1{path}", headers=theirs)) == (403, "forbidden")
    for method, path in (("PUT", "/queues/default"), ("POST", "/queues/default/pauses")):
        got = await http.request(method, f"/api/v1{path}", json={"limit": 1}, headers=theirs)
        if method == "POST":
            got = await http.post(f"/api/v1{path}", json={}, headers=theirs)
        assert problem(got) == (403, "forbidden")


async def test_workers_and_what_they_do(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    label = Label(name="w-7", host="h", pid=1, app="yard", version="1")
    worker = await register.register(house.db, label, {"default": 2})
    run = await start(http, "one")
    async with house.db.transaction() as tx:
        await tx.execute(
            f"update koken.run set state = 'running', worker_id = {worker}, lease = 1,"
            " claimed_at = koken.now(), started_at = koken.now()"
        )
    (row,) = (await http.get("/api/v1/workers")).json()["items"]
    assert (row["name"], row["standing"], row["busy"], row["slots"]) == ("w-7", "live", 1, 2)
    assert [(each["run"], each["job"]) for each in row["runs"]] == [(run, "one")]
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    theirs = await token(house, "read", workspace="acme")
    (row,) = (await http.get("/api/v1/workers", headers=theirs)).json()["items"]
    assert (row["busy"], row["runs"]) == (0, [])


async def test_the_doctor_and_what_is_old(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    found = {row["name"]: row for row in (await http.get("/api/v1/doctor")).json()["items"]}
    assert found["tables"]["good"] is True
    assert (found["workers"]["good"], found["workers"]["remedy"]) == (False, "koken worker")
    async with house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.tick (schedule_id, due_at, fired_at, until_at, verdict) select 1,"
            " koken.now() - n * interval '200 d', koken.now() - n * interval '200 d',"
            " koken.now(), 'missed'"
            " from generate_series(1, 3) n"
        )
    assert (await http.get("/api/v1/prunable")).json() == {
        "runs": 0, "more": False, "ticks": 2, "log_days": 0,
    }  # fmt: skip
