"""Tagged requests of outside schedulers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from koken.views import jobtypes
from tests.web.api.yard import make, open_yard, problem, token

OpenHouse = Callable[..., Any]


async def ask(http: httpx.AsyncClient, body: Any, **headers: str) -> httpx.Response:
    """A tagged request."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await http.post("/api/v1/requests", json=body, headers=named)


async def test_a_tag_names_a_job_or_its_type(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    got = await ask(http, {"type": "REDUCE", "data": {"workspace": "acme", "approve": True}})
    assert got.status_code == 202
    assert got.json() == {"run": "1", "existing": False, "url": "http://127.0.0.1:7070/runs/1"}
    run = (await http.get("/api/v1/runs/1")).json()
    assert (run["job"], run["args"]) == ("reduce", {"workspace": "acme", "approve": True})
    assert (await ask(http, {"type": "two.b"})).json()["run"] == "2"


UNFIT: tuple[tuple[Any, str, str], ...] = (
    ({}, "type", "is missing"),
    ({"type": 7}, "type", "is to be a text"),
    ({"type": "REDUCES"}, "type",
     "'REDUCES' is no job, nor the type of one. Did you mean reduce?"),
    ({"type": "TWICE"}, "type", "is the type of one, two.b; name one of them"),
    ({"type": "lift", "data": {"shop": "ada"}}, "shop", "is not an argument. Did you mean ship?"),
    ({"type": "lift", "data": []}, "", "the arguments are no object with named fields"),
    ({"type": "lift", "colour": "red"}, "colour", "is no field of this request"),
    ({"type": "lift", "id": [1]}, "id", "is to be a text"),
    ({"type": "lift", "id": "x" * 5000}, "id", "has 5000 characters; the limit is 400"),
)  # fmt: skip


async def test_requests_that_do_not_fit(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    for body, where, why in UNFIT:
        got = await ask(http, body)
        assert problem(got) == (422, "invalid_arguments")
        assert got.json()["problems"] == {where: why}
    for odd in ({"type": "\x00"}, {"type": "x" * 5000}, {"type": "lift", "id": "\x00"}):
        assert problem(await ask(http, odd)) == (422, "invalid_arguments")


KNOWN_BY: tuple[tuple[dict[str, str], dict[str, Any]], ...] = (
    ({"Idempotency_Key": "a"}, {}),
    ({"X_Kronos_Idempotency_Key": "b"}, {}),
    ({"X_CloudTasks_TaskName": "c"}, {}),
    ({"X_CloudScheduler_JobName": "d",
      "X_CloudScheduler_ScheduleTime": "2026-11-30T02:00:00Z"}, {}),
    ({}, {"id": 412}),
    ({}, {"id": "e-1", "source": "/quay", "specversion": "1.0"}),
)  # fmt: skip


async def test_a_request_that_comes_again_starts_nothing_new(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    runs = set()
    for headers, more in KNOWN_BY:
        body = {"type": "lift", **more}
        answers = await asyncio.gather(*(ask(http, body, **headers) for _ in range(4)))
        assert {got.status_code for got in answers} == {202}
        assert {got.json()["run"] for got in answers} == {answers[0].json()["run"]}
        assert [got.json()["existing"] for got in answers].count(False) == 1
        runs.add(answers[0].json()["run"])
    assert len(runs) == len(KNOWN_BY)


async def test_no_two_requests_share_a_key_by_chance(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    scheduled = {"X_CloudScheduler_ScheduleTime": "2026-11-30T02:00:00Z"}
    asked: tuple[tuple[dict[str, str], dict[str, Any]], ...] = (
        ({}, {"source": "urn:a", "id": "1"}),
        ({}, {"source": "urn", "id": "a:1"}),
        ({}, {"source": "urn%3Aa", "id": "1"}),
        ({}, {"id": 5}),
        ({"Idempotency_Key": "5"}, {}),
        ({"X_Kronos_Idempotency_Key": "5"}, {}),
        ({"X_CloudTasks_TaskName": "5"}, {}),
        (scheduled, {}),
        (scheduled, {}),
        ({"X_CloudScheduler_JobName": "d"}, {}),
        ({"X_CloudScheduler_JobName": "d"}, {}),
    )
    got = [await ask(http, {"type": "lift", **more}, **headers) for headers, more in asked]
    assert [each.json()["run"] for each in got] == [str(n) for n in range(1, 12)]
    assert (await http.get("/api/v1/runs/8")).json()["idempotency_key"] is None
    assert (await http.get("/api/v1/runs/2")).json()["idempotency_key"] == "request:id:urn:a:1"


async def test_the_jobs_of_the_program_are_known_before_anybody_has_started_them(
    open_house: OpenHouse,
) -> None:
    _, http = await open_house(program=make())
    got = await ask(http, {"type": "REDUCES"})
    assert got.json()["problems"]["type"].endswith("Did you mean reduce?")
    got = await ask(http, {"type": "TWICE"})
    assert got.json()["problems"] == {"type": "is the type of one, two.b; name one of them"}
    assert [(await ask(http, {"type": each})).json()["run"] for each in ("lift", "REDUCE")] == [
        "1", "2",
    ]  # fmt: skip


async def test_one_request_reads_no_other_jobs(
    open_house: OpenHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def all_of_them(*_: Any, **__: Any) -> None:
        raise AssertionError("all jobs were read")

    _, http = await open_yard(open_house)
    monkeypatch.setattr(jobtypes, "known", all_of_them)
    assert [(await ask(http, {"type": each})).json()["run"] for each in ("lift", "REDUCE")] == [
        "1", "2",
    ]  # fmt: skip


async def test_requests_without_an_id_are_each_their_own(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    assert [(await ask(http, {"type": "lift"})).json()["run"] for _ in range(2)] == ["1", "2"]


async def test_the_time_of_a_cloud_scheduler_is_the_logical_time(open_house: OpenHouse) -> None:
    _, http = await open_yard(open_house)
    at = "2026-11-30T02:00:00Z"
    got = await ask(
        http, {"type": "lift"}, X_CloudScheduler_JobName="k", X_CloudScheduler_ScheduleTime=at
    )
    run = (await http.get(f"/api/v1/runs/{got.json()['run']}")).json()
    assert run["logical_time"] == "2026-11-30T02:00:00+00:00"
    got = await ask(
        http, {"type": "lift"}, X_CloudScheduler_JobName="k", X_CloudScheduler_ScheduleTime="soon"
    )
    assert problem(got) == (422, "invalid_arguments")


async def test_who_may_only_look_starts_nothing(open_house: OpenHouse) -> None:
    house, http = await open_yard(open_house)
    headers = await token(house, "read")
    got = await http.post("/api/v1/requests", json={"type": "lift"}, headers=headers)
    assert problem(got) == (403, "forbidden")
