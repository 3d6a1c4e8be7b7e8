"""Jobs, their versions and their schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from koken.engine.publish import publish_job
from koken.model.job import JobSpec
from tests.web.api.yard import ODD, is_instant, open_yard, problem, start, token

OpenHouse = Callable[..., Any]


async def test_jobs_are_found_as_in_the_console(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)

    async def named(**query: Any) -> list[str]:
        got = (await http.get("/api/v1/jobs", params=query)).json()
        return [job["name"] for job in got["items"]]

    assert await named() == [
        "ask", "lift", "listen", "one", "reduce", "tide", "two.b", "unload",
    ]  # fmt: skip
    assert await named(q="contexts REDUCE") == ["reduce"]
    assert await named(q="tag:heavy") == ["lift"]
    assert await named(q="owner:quay queue:default,night") == ["lift"]
    assert await named(q="owner:quay nothing") == []
    await http.post("/api/v1/jobs/tide/pauses")
    assert await named(q="state:paused") == ["tide"]
    assert await named(q="state:failing,late", limit=1) == []
    bad = await http.get("/api/v1/jobs", params={"q": "stat:paused"})
    assert (problem(bad), list(bad.json()["problems"])) == ((422, "invalid_arguments"), ["stat"])
    async with house.db.transaction() as tx:
        await tx.execute("update koken.job set retired_at = koken.now() where name = 'two.b'")
    assert await named(q="two.b") == []
    assert await named(q="two.b", retired=1) == ["two.b"]
    await house.db.run(lambda tx: tx.execute("update koken.job set retired_at = null"))
    first = (await http.get("/api/v1/jobs", params={"limit": 5})).json()
    second = (await http.get("/api/v1/jobs", params={"limit": 5, "cursor": first["next"]})).json()
    assert [job["name"] for job in second["items"]] == ["tide", "two.b", "unload"]
    assert second["next"] is None
    other = await http.get("/api/v1/jobs", params={"limit": 5, "cursor": first["next"], "q": "t"})
    assert problem(other) == (422, "invalid_arguments")


async def test_a_job_in_all_its_parts(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    run = await start(http, "lift", ship="ada")
    got = (await http.get("/api/v1/jobs/lift")).json()
    assert got["spec"]["lock"]["key"] == "crane:{ship}"
    assert got["arguments"]["properties"]["ship"]["default"] == "ada"
    assert got["health"] == {"outcomes": ["ready"], "failing_since": None, "open_failures": 0}
    assert (got["version"], got["app"], got["published_by"]) == (1, "yard", "anna")
    tide = (await http.get("/api/v1/jobs/tide")).json()
    assert [each["words"] for each in tide["schedules"]] == [
        "At 02:00 every day, Europe/Berlin",
        "At 00:00, 06:00, 12:00, and 18:00 every day, Europe/Berlin",
    ]
    assert tide["spec"]["defaults"] == {"password": "•••"}
    assert tide["arguments"]["properties"]["password"]["default"] == "•••"
    listed = (await http.get("/api/v1/jobs", params={"q": "tide"})).json()["items"][0]
    assert listed["arguments"]["properties"]["password"]["default"] == "•••"
    assert (await http.get("/api/v1/jobs", params={"q": "lift"})).json()["items"][0]["last_run"][
        "id"
    ] == run


async def test_versions_and_differences(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    spec = JobSpec(name="reduce", type="REDUCE", max_attempts=4)
    await house.db.run(lambda tx: publish_job(tx, app="yard", spec=spec, by="otto"))
    got = (await http.get("/api/v1/jobs/reduce/versions")).json()
    assert [(row["number"], row["published_by"], row["current"]) for row in got["items"]] == [
        (2, "otto", True),
        (1, "anna", False),
    ]
    page = (await http.get("/api/v1/jobs/reduce/versions?limit=1")).json()
    rest = (await http.get(f"/api/v1/jobs/reduce/versions?limit=1&cursor={page['next']}")).json()
    assert [row["number"] for row in rest["items"]] == [1]
    one = (await http.get("/api/v1/jobs/reduce/versions/1")).json()
    assert (one["number"], one["spec"]["max_attempts"]) == (1, 1)
    told = (await http.get("/api/v1/jobs/reduce/differences")).json()
    assert (told["from"], told["to"]) == (1, 2)
    by_path = {each["path"]: (each["before"], each["after"]) for each in told["items"]}
    assert by_path["max_attempts"] == (1, 4)
    assert by_path["overlap"] == ("skip_if_running", None)
    back = (await http.get("/api/v1/jobs/reduce/differences?from=2&to=1")).json()
    assert {each["path"]: each["after"] for each in back["items"]}["max_attempts"] == 1
    assert problem(await http.get("/api/v1/jobs/reduce/versions/3")) == (404, "not_found")
    assert (await http.get("/api/v1/jobs/lift/differences")).json() == {
        "from": 1, "to": 1, "items": [],
    }  # fmt: skip


async def test_when_a_job_is_due(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    got = (await http.get("/api/v1/jobs/tide/next", params={"n": 6})).json()["items"]
    times = [each["at"] for each in got]
    assert len(times) == 6
    assert times == sorted(times)
    assert len({each["schedule"] for each in got}) == 2
    assert (await http.get("/api/v1/jobs/lift/next")).json() == {"items": [], "next": None}
    assert problem(await http.get("/api/v1/jobs/tide/next?n=0")) == (422, "invalid_arguments")


async def test_an_expression(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    got = await http.get(
        "/api/v1/next",
        params={
            "expression": "0 2 * * *",
            "timezone": "Europe/Berlin",
            "after": "2026-03-28T12:00:00Z",
            "n": 3,
        },
    )
    assert got.json() == {
        "words": "At 02:00 every day, Europe/Berlin",
        "timezone": "Europe/Berlin",
        "items": [
            "2026-03-29T03:00:00+02:00",
            "2026-03-30T02:00:00+02:00",
            "2026-03-31T02:00:00+02:00",
        ],
    }
    for params in (
        {"expression": "61 * * * *"},
        {"expression": "0 2 * * *", "timezone": "Mars/Olympus"},
        {"expression": "0 2 * * *", "after": "yesterday"},
        {"expression": "0 2 * * *", "after": "2026-03-28T12:00:00"},
        {"expression": "\x00"},
    ):
        got = await http.get("/api/v1/next", params=params)
        assert problem(got) == (422, "invalid_arguments"), params


async def test_schedules_are_paused_one_by_one_or_together(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    listed = (await http.get("/api/v1/schedules?job=tide")).json()["items"]
    first, second = (row["id"] for row in listed)
    got = await http.post(f"/api/v1/schedules/{first}/pauses", json={"reason": "storm"})
    assert got.json() == {"paused": True, "changed": 1}
    one = (await http.get(f"/api/v1/schedules/{first}")).json()
    assert (one["paused_by"], one["pause_reason"], one["next_at"] is None) == (
        "mira",
        "storm",
        False,
    )
    assert is_instant(one["paused_at"])
    assert (await http.get(f"/api/v1/schedules/{first}/next")).json() == {"items": [], "next": None}
    assert len((await http.get(f"/api/v1/schedules/{second}/next")).json()["items"]) == 5
    assert (await http.post("/api/v1/jobs/tide/pauses")).json() == {"paused": True, "changed": 1}
    got = await http.post("/api/v1/jobs/tide/resumptions", json={})
    assert got.json() == {"paused": False, "changed": 2}
    assert (await http.get(f"/api/v1/schedules/{first}/ticks")).json() == {
        "items": [], "next": None,
    }  # fmt: skip
    events = (await http.get("/api/v1/events?q=job:tide")).json()["items"]
    assert [row["verb"] for row in events] == ["resume", "resume", "pause", "pause"]
    assert problem(await http.post("/api/v1/jobs/lift/pauses")) == (409, "refused")
    page = (await http.get("/api/v1/schedules?limit=1")).json()
    rest = (await http.get(f"/api/v1/schedules?limit=1&cursor={page['next']}")).json()
    assert [page["items"][0]["id"], rest["items"][0]["id"]] == [first, second]
    assert rest["next"] is None


async def test_ticks_of_a_job_come_in_pages(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    (first, _) = (await http.get("/api/v1/schedules?job=tide")).json()["items"]
    async with house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.tick (schedule_id, due_at, until_at, verdict, reason)"
            f" select {first['id']}, timestamptz '2026-11-30 00:00Z' + n * interval '6 h',"
            " timestamptz '2026-11-30 00:00Z' + n * interval '6 h', 'skipped', 'storm'"
            " from generate_series(1, 3) n"
        )
    page = (await http.get("/api/v1/jobs/tide/ticks?limit=2")).json()
    assert [row["due_at"] for row in page["items"]] == [
        "2026-11-30T18:00:00+00:00",
        "2026-11-30T12:00:00+00:00",
    ]
    rest = (await http.get(f"/api/v1/jobs/tide/ticks?limit=2&cursor={page['next']}")).json()
    assert [(row["verdict"], row["reason"]) for row in rest["items"]] == [("skipped", "storm")]


async def test_the_graph_of_a_job(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    got = (await http.get("/api/v1/jobs/unload/graph")).json()
    assert [node["name"] for node in got["nodes"]] == ["hoist", "count"]
    assert [(edge["from"], edge["to"]) for edge in got["edges"]] == [("hoist", "count")]
    picture = await http.get("/api/v1/jobs/unload/graph.svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert "hoist" in picture.text


PATHS = (
    "/jobs/{}", "/jobs/{}/versions", "/jobs/{}/versions/1", "/jobs/{}/differences",
    "/jobs/{}/next", "/jobs/{}/ticks", "/jobs/{}/graph", "/jobs/{}/graph.svg", "/schedules/{}",
    "/schedules/{}/ticks", "/queues/{}", "/locks/{}",
)  # fmt: skip


async def test_names_that_are_none(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    for path in PATHS:
        for odd in ODD:
            quoted = odd.encode("utf-8", "surrogatepass").hex("%")
            got = await http.get("/api/v1" + path.format(f"%{quoted}"))
            assert got.status_code in (404, 422), (path, odd, got.text)
            assert got.json()["code"] in ("not_found", "invalid_arguments")


async def test_who_may_only_look_pauses_nothing(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    headers = await token(house, "read", workspace="default")
    got = await http.post("/api/v1/jobs/tide/pauses", headers=headers)
    assert problem(got) == (403, "forbidden")
    (row, _) = (await http.get("/api/v1/schedules?job=tide", headers=headers)).json()["items"]
    assert row["paused_at"] is None


async def test_another_workspace_has_other_schedules_and_runs(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    await start(http, "lift")
    async with house.db.transaction() as tx:
        await tx.execute("insert into koken.workspace (name) values ('acme')")
    headers = await token(house, "read", "operate", workspace="acme")
    assert (await http.get("/api/v1/schedules", headers=headers)).json()["items"] == []
    seen = (await http.get("/api/v1/jobs?q=lift", headers=headers)).json()["items"][0]
    assert seen["last_run"] is None
    detail = (await http.get("/api/v1/jobs/tide", headers=headers)).json()
    assert (detail["schedules"], detail["health"]["outcomes"]) == ([], [])
    assert problem(await http.post("/api/v1/schedules/1/pauses", headers=headers)) == (
        404, "not_found",
    )  # fmt: skip


async def test_pictures_have_their_colours(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    run = await start(http, "unload")
    for path in ("/api/v1/jobs/unload", f"/api/v1/runs/{run}", "/jobs/unload"):
        got = await http.get(f"{path}/graph.svg")
        assert got.headers["content-type"] == "image/svg+xml"
        assert got.headers["content-security-policy"] == (
            "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        )
        assert "<style>" in got.text, path
