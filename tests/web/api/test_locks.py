"""Locks over HTTP: who has them, and how one is taken away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.web.api.yard import open_yard, problem, start, token

OpenHouse = Callable[..., Any]


async def test_who_has_a_lock_and_who_waits(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    first, second = await start(http, "lift"), await start(http, "lift")
    await start(http, "lift", ship="grace/hopper")
    page = (await http.get("/api/v1/locks?limit=1")).json()
    (lock,) = page["items"]
    assert (lock["key"], lock["kind"], lock["mode"], lock["limit"]) == (
        "crane:ada", "lock", "exclusive", 1,
    )  # fmt: skip
    assert [each["run"] for each in lock["holders"]] == [first]
    assert (lock["waiting"], [each["run"] for each in lock["next"]]) == (1, [second])
    rest = (await http.get(f"/api/v1/locks?limit=1&cursor={page['next']}")).json()
    assert [each["key"] for each in rest["items"]] == ["crane:grace/hopper"]
    assert rest["next"] is None
    one = (await http.get("/api/v1/locks/crane:grace/hopper")).json()["items"]
    assert one == rest["items"]
    assert (await http.get("/api/v1/locks?kind=subject")).json()["items"] == []
    assert (await http.get("/api/v1/locks?key=crane:grace/hopper")).json()["items"] == one
    assert (await http.get("/api/v1/locks?key=crane")).json()["items"] == []
    assert problem(await http.get("/api/v1/locks?kind=door")) == (422, "invalid_arguments")
    assert problem(await http.get("/api/v1/locks/crane:eve")) == (404, "not_found")


async def test_a_lock_whose_run_goes_is_not_taken(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    first, second = await start(http, "lift"), await start(http, "lift")
    got = await http.post("/api/v1/locks/crane:ada/unlocks", json={"reason": "hurry"})
    assert problem(got) == (409, "locked")
    assert (got.json()["what"], got.json()["held_by"]) == (
        "crane:ada", {"run": first, "job": "lift", "operation": None},
    )  # fmt: skip
    assert got.json()["since"] is not None
    async with house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.moving (run_id, machine, transition, table_name, column_name,"
            " key_name, subject_id, target, supersedes)"
            f" values ({first}, 'crane', 'hoist', 'crane', 'state', 'id', '7', 'up', '{{}}')"
        )
    got = await http.post("/api/v1/locks/crane:ada/unlocks")
    assert got.json()["held_by"] == {"run": first, "job": "lift", "operation": "hoist"}
    got = await http.post("/api/v1/locks/crane:ada/unlocks", json={"force": True})
    assert problem(got) == (422, "invalid_arguments")
    assert (await http.get(f"/api/v1/runs/{second}")).json()["state"] == "blocked"


async def test_by_force_its_run_is_cancelled_and_the_next_gets_it(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    first, second = await start(http, "lift"), await start(http, "lift")
    body = {"run": first, "force": True, "reason": "crane stuck"}
    got = await http.post("/api/v1/locks/crane:ada/unlocks", json=body)
    assert got.json() == {"lock": "crane:ada", "runs": [first], "stopping": []}
    ended = (await http.get(f"/api/v1/runs/{first}")).json()
    assert (ended["state"], ended["reason"]) == (
        "cancelled", "lock crane:ada was taken from it: crane stuck",
    )  # fmt: skip
    assert (await http.get(f"/api/v1/runs/{second}")).json()["state"] == "ready"


async def test_by_force_a_run_at_work_is_asked_to_stop(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    first, second = await start(http, "lift"), await start(http, "lift")
    async with house.db.transaction() as tx:
        await tx.execute(
            f"update koken.run set state = 'running', lease = 1, worker_id = 1 where id = {first}"
        )
    body = {"run": first, "force": True, "reason": "crane stuck"}
    got = await http.post("/api/v1/locks/crane:ada/unlocks", json=body)
    assert got.json() == {"lock": "crane:ada", "runs": [first], "stopping": [first]}
    assert (await http.get(f"/api/v1/runs/{first}")).json()["phase"] == "cancelling"
    assert (await http.get(f"/api/v1/runs/{second}")).json()["state"] == "ready"
    events = (await http.get(f"/api/v1/events?q=run:{first}")).json()["items"]
    assert [(row["verb"], row["reason"]) for row in events] == [
        ("unlock", "crane stuck"),
        ("cancel", "lock crane:ada was taken from it: crane stuck"),
    ]
    assert events[0]["detail"]["forced"] is True


async def test_what_an_ended_run_has_left_is_taken_at_once(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    first, second = await start(http, "lift"), await start(http, "lift")
    async with house.db.transaction() as tx:
        await tx.execute(
            "update koken.run set state = 'failed', finished_at = koken.now(), lease = 1"
            f" where id = {first}"
        )
    got = await http.post("/api/v1/locks/crane:ada/unlocks")
    assert got.json() == {"lock": "crane:ada", "runs": [first], "stopping": []}
    assert (await http.get(f"/api/v1/runs/{second}")).json()["state"] == "ready"


async def test_a_lock_without_a_holder(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    await start(http, "lift")
    async with house.db.transaction() as tx:
        await tx.execute("update koken.hold set granted_at = null")
    got = await http.post("/api/v1/locks/crane:ada/unlocks")
    assert problem(got) == (409, "refused")


async def test_keys_that_a_run_keeps(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    run = await start(http, "reduce")
    (key,) = (await http.get("/api/v1/overlap-keys")).json()["items"]
    assert (key["run"], key["job"], key["rule"]) == (run, "reduce", "skip_if_running")
    assert (await http.get("/api/v1/overlap-keys?longer_than=1e6")).json()["items"] == []
    for odd in ("-1", "nan", "1e400", "x"):
        got = await http.get(f"/api/v1/overlap-keys?longer_than={odd}")
        assert problem(got) == (422, "invalid_arguments")


async def test_another_workspace_sees_and_breaks_nothing(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    await start(http, "lift")
    await start(http, "reduce")
    headers = await token(house, "read", "operate", workspace="acme")
    assert (await http.get("/api/v1/locks", headers=headers)).json()["items"] == []
    assert (await http.get("/api/v1/overlap-keys", headers=headers)).json()["items"] == []
    got = await http.post("/api/v1/locks/crane:ada/unlocks", headers=headers)
    assert problem(got) == (404, "not_found")
    looks = await token(house, "read", workspace="default", name="looks")
    got = await http.post("/api/v1/locks/crane:ada/unlocks", headers=looks)
    assert problem(got) == (403, "forbidden")


async def test_by_force_of_two_at_once_it_is_taken_from_one_run(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    first, second, third = [await start(http, "lift") for _ in range(3)]
    body = {"run": first, "force": True, "reason": "crane stuck"}
    got = await asyncio.gather(
        *(http.post("/api/v1/locks/crane:ada/unlocks", json=body) for _ in range(4))
    )
    assert {each.status_code for each in got} <= {200, 409}
    assert [first] in [each.json()["runs"] for each in got if each.status_code == 200]
    states = [
        (await http.get(f"/api/v1/runs/{run}")).json()["state"] for run in (first, second, third)
    ]
    assert states == ["cancelled", "ready", "blocked"]


async def test_it_is_taken_from_nobody_but_the_holder_that_is_meant(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    first, second, _ = [await start(http, "lift") for _ in range(3)]
    url = "/api/v1/locks/crane:ada"
    (holder,) = (await http.get(url)).json()["items"][0]["holders"]
    body = {"force": True, "reason": "crane stuck"}
    got = await http.post(f"{url}/unlocks", json=body)
    assert problem(got) == (422, "invalid_arguments")
    assert got.json()["detail"] == (
        "say from which run lock 'crane:ada' is taken by force: run 1 of lift has it"
    )
    body |= {"run": first, "since": holder["since"]}
    assert (await http.post(f"{url}/unlocks", json=body)).status_code == 200
    again = await http.post(f"{url}/unlocks", json=body)
    assert problem(again) == (409, "locked")
    assert again.json()["held_by"]["run"] == second
    assert "is not what run 1 was seen to have: run 2 of lift has it" in again.json()["detail"]
    assert (await http.get(f"/api/v1/runs/{second}")).json()["state"] == "ready"
    for odd in ({"run": "x"}, {"run": "1", "since": "today"}):
        got = await http.post(f"{url}/unlocks", json=body | odd)
        assert problem(got) == (422, "invalid_arguments"), odd


async def test_a_hold_that_its_run_got_anew_is_another_one(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    run = await start(http, "lift")
    url = "/api/v1/locks/crane:ada"
    (holder,) = (await http.get(url)).json()["items"][0]["holders"]
    await http.post(f"/api/v1/runs/{run}/cancellations")
    await http.post(f"/api/v1/runs/{run}/retries")
    body = {"run": run, "since": holder["since"], "force": True, "reason": "crane stuck"}
    assert problem(await http.post(f"{url}/unlocks", json=body)) == (409, "locked")
    assert (await http.get(f"/api/v1/runs/{run}")).json()["state"] == "ready"


async def test_all_kinds_of_locks_are_told(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    kinds = ["lock", "subject", "overlap", "backfill"]
    for kind in kinds:
        got = await http.get("/api/v1/locks", params={"kind": kind})
        assert (got.status_code, got.json()) == (200, {"items": [], "next": None}), kind
    schemas = (await http.get("/api/v1/openapi.json")).json()["components"]["schemas"]
    assert schemas["LockShown"]["properties"]["kind"]["enum"] == kinds
