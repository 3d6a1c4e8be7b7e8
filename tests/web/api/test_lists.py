"""Lists: pages, cursors, queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from koken.engine import register
from koken.engine.register import Label
from koken.errors import InvalidArguments
from koken.views import catalog
from koken.web.api import lists
from koken.web.house import House
from tests.web.api.yard import open_yard, problem, start, token

OpenHouse = Callable[..., Any]
API = "/api/v1"
RUNS = f"{API}/runs"
MORE_THAN_A_LIST = {"/jobs/{job}/differences", "/next"}
"""What has items beside something else."""


async def walked(http: httpx.AsyncClient, path: str, **asked: Any) -> list[list[Any]]:
    """All pages of a list."""
    pages, cursor = [], None
    while True:
        given = {"limit": 1, **asked} | ({"cursor": cursor} if cursor else {})
        got = await http.get(f"{API}{path}", params=given)
        assert got.status_code == 200, got.text
        pages.append(got.json()["items"])
        cursor = got.json()["next"]
        if cursor is None:
            return pages


async def test_all_lists_have_one_shape(http: httpx.AsyncClient) -> None:
    described = (await http.get(f"{API}/openapi.json")).json()
    schemas = described["components"]["schemas"]
    shapes = {}
    for path, operations in described["paths"].items():
        content = operations.get("get", {"responses": {"200": {}}})["responses"]["200"]
        schema = content.get("content", {}).get("application/json", {}).get("schema", {})
        found = schemas.get(schema.get("$ref", "").rpartition("/")[2], {}).get("properties", {})
        if "items" in found:
            shapes[path] = set(found)
    assert len(shapes) > 25
    odd = {path for path, shape in shapes.items() if shape != {"items", "next"}}
    assert odd == MORE_THAN_A_LIST


async def test_no_page_follows_one_that_is_full_to_the_brim(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    await http.post(f"{RUNS}/batch", json={"job": "lift", "rows": [{}] * 2})
    await http.post(f"{RUNS}/1/cancellations", json={"reason": "a"})
    await http.post(f"{RUNS}/1/acknowledgements", json={"reason": "b"})
    await http.put(f"{API}/queues/night", json={"limit": 1, "create": True})
    for name in ("w-1", "w-2"):
        label = Label(name=name, host="quay", pid=7, app="yard", version="1")
        await register.register(house.db, label, {"default": 1})
    async with house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.workspace (name) values ('acme');"
            "insert into koken.tick (schedule_id, due_at, until_at, verdict) select s.id, d, d,"
            " 'skipped' from koken.schedule s, unnest(array['2026-11-01'::timestamptz,"
            " '2026-11-02']) d"
        )
    for name in ("ada", "ben"):
        await http.post(f"{API}/hooks", json={"name": name, "job": "lift"})
    root = await token(house, "read", "administer", name="root")
    await token(house, "read", name="robot")
    async with house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.user (name, folded, created_by) values ('a', 'a', 'x'),"
            " ('b', 'b', 'x');"
        )
    http.headers.update(root)
    for path, sizes in {
        "/runs": [1, 1],
        "/runs/1/events": [1, 1],
        "/jobs?q=l": [1] * 3,
        "/schedules": [1, 1],
        "/schedules/1/ticks": [1, 1],
        "/jobs/tide/ticks": [1] * 4,
        "/ticks": [1] * 4,
        "/workers": [1, 1],
        "/workspaces": [1, 1],
        "/tokens": [1, 1],
        "/hooks": [1, 1],
        "/users": [1, 1],
    }.items():
        path, _, q = path.partition("?q=")
        asked = {"q": q} if q else {}
        pages = await walked(http, path, **asked)
        assert [len(page) for page in pages] == sizes, path
        seen = [named(each) for page in pages for each in page]
        assert len(set(seen)) == len(seen), path
        (whole,) = await walked(http, path, limit=100, **asked)
        assert [named(each) for each in whole] == seen, path


def named(row: dict[str, Any]) -> str:
    """What tells a row of a list from the others."""
    return str(row.get("id") or (row.get("name"), row.get("due_at"), row.get("schedule")))


async def test_a_page_is_as_long_as_was_asked_for(http: httpx.AsyncClient, house: House) -> None:
    async with house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.event (workspace_id, verb, by)"
            " select id, 'look', 'ada' from koken.workspace, generate_series(1, 700)"
            " where name = 'default'"
        )
    (found,) = await walked(http, "/events", limit=1000, q="verb:look")
    assert len(found) == 700


async def test_jobs_are_read_page_by_page(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    found = await catalog.jobs(house.views, workspace="default", limit=2, query="LIFT count")
    assert [row.name for row in found] == ["unload"]
    rows = await catalog.jobs(house.views, workspace="default", limit=2)
    assert len(rows) == 2
    rest = await catalog.jobs(house.views, workspace="default", after=(rows[-1].name, rows[-1].id))
    assert rows[-1].name < rest[0].name
    one = await catalog.schedules(house.views, workspace="default", limit=1)
    assert len(one) == 1
    assert [row["name"] for row in (await walked(http, "/jobs", q="tag:heavy"))[0]] == ["lift"]
    assert [row["name"] for row in (await walked(http, "/jobs", q="owner:quay"))[0]] == ["lift"]
    assert await walked(http, "/jobs", q="tag:money") == [[]]


async def test_steps_and_overlap_keys_have_pages(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    run = await start(http, "unload")
    pages = await walked(http, f"/runs/{run}/steps")
    assert [[row["name"] for row in page] for page in pages] == [["hoist"], ["count"]]
    many = await start(http, "lift")
    async with house.db.transaction() as tx:
        await tx.execute(
            "insert into koken.run (workspace_id, job_id, version_id, queue_id, state, parent_id,"
            " root_id, step, step_no, trigger_kind, max_attempts, max_infra_attempts, logical_at,"
            " priority, rank, created_at)"
            " select workspace_id, job_id, version_id, queue_id, 'skipped', id, id, 'it', n, 'run',"
            " 1, 1, logical_at, priority, rank, created_at from koken.run, generate_series(1, 3) n"
            f" where id = {many}"
        )
    pages = await walked(http, f"/runs/{many}/steps", limit=2)
    assert [[row["name"] for row in page] for page in pages] == [["it[0]", "it[1]"], ["it[2]"]]
    await start(http, "reduce")
    pages = await walked(http, "/overlap-keys")
    assert [[row["job"] for row in page] for page in pages] == [["reduce"]]


async def test_pages_follow_one_another(http: httpx.AsyncClient) -> None:
    await http.post(f"{RUNS}/batch", json={"job": "greet", "rows": [{}] * 5})
    await http.post(RUNS, json={"job": "broken"})
    seen, cursor = [], None
    for _ in range(3):
        asked = {"q": "job:greet state:ready", "limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await http.get(RUNS, params=asked)).json()
        seen.append([each["id"] for each in page["items"]])
        cursor = page["next"]
    assert (seen, cursor) == ([["5", "4"], ["3", "2"], ["1"]], None)
    below = (await http.get(RUNS, params={"before": "3"})).json()
    assert [each["id"] for each in below["items"]] == ["2", "1"]


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ({"q": "stat:failed"}, "stat"),
        ({"limit": "0"}, "limit"),
        ({"limit": "9" * 40}, "limit"),
        ({"before": "x"}, "before"),
        ({"cursor": "Zm9v"}, "cursor"),
        ({"cursor": "é\x00"}, "cursor"),
    ],
)
async def test_what_cannot_be_asked_for(
    http: httpx.AsyncClient, asked: dict[str, str], place: str
) -> None:
    got = await http.get(RUNS, params=asked)
    assert (problem(got), list(got.json()["problems"])) == ((422, "invalid_arguments"), [place])


def test_a_cursor_is_of_one_list_and_changed_by_nobody() -> None:
    cursor = lists.written("runs default", ["a", 7])
    assert lists.read("runs default", cursor) == ["a", 7]
    assert lists.read("runs default", None) is None
    for of, other in (
        ("runs acme", cursor),
        ("runs default", cursor[:-1]),
        ("runs default", cursor + "A"),
        ("runs default", f"{cursor}="),
        ("runs default", "A" + cursor[1:] if cursor[0] != "A" else "B" + cursor[1:]),
        ("runs default", ""),
    ):
        with pytest.raises(InvalidArguments, match="is no cursor of this list"):
            lists.read(of, other)
