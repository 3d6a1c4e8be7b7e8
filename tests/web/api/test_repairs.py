"""What people do to runs over HTTP: each verb, its plan, its refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from koken.runtime.worker import Worker
from tests.support.moments import until
from tests.web.api.yard import make, open_yard, problem, start

RUNS = "/api/v1/runs"
AS_A_WHOLE = {"items": None, "closes_at": None, "follows": False, "for_failure": False}


async def standing(http: httpx.AsyncClient, run: str, state: str) -> dict[str, Any]:
    """A run once it stands so."""

    async def stands() -> dict[str, Any] | None:
        plain: dict[str, Any] = (await http.get(f"{RUNS}/{run}")).json()
        return plain if plain["state"] == state else None

    return await until(stands)


@pytest.fixture
async def torn(http: httpx.AsyncClient, worker: Worker) -> str:
    """A run of a workflow whose second step has failed."""
    run = await start(http, "nightly", day="bad")
    await standing(http, run, "failed")
    return run


async def test_a_failed_step_its_plan_and_a_retry(http: httpx.AsyncClient, torn: str) -> None:
    plain = (await http.get(f"{RUNS}/{torn}")).json()
    assert plain["actions"] == ["retry", "skip", "resolve", "rerun", "fork", "acknowledge"]
    plan = await http.post(
        f"{RUNS}/{torn}/retries", params={"dry_run": 1}, json={"from_step": "load"}
    )
    assert (plan.status_code, plan.json()) == (
        200,
        {
            "verb": "retry",
            "run": torn,
            "job": "nightly",
            "from_step": "load",
            "again": [
                {"step": "load", "effect": None, "inputs": []} | AS_A_WHOLE,
                {"step": "publish", "effect": None, "inputs": []} | AS_A_WHOLE | {"follows": True},
            ],
            "then": [],
            "keeps": [],
            "stays": {},
            "may_repeat": ["load", "publish"],
            "locks": [],
            "needs_force": False,
            "undone": [],
            "max_attempts": 1,
            "timezone": "UTC",
        },
    )
    assert (await http.get(f"{RUNS}/{torn}")).json() == plain
    given = {"args": {"day": "good"}, "from_step": "load", "reason": "a bad day"}
    got = await http.post(f"{RUNS}/{torn}/retries", json=given)
    assert (got.status_code, got.json()["args"]) == (200, {"day": "good"})
    await standing(http, torn, "succeeded")
    (act,) = (await http.get(f"{RUNS}/{torn}/events")).json()["items"]
    assert (act["verb"], act["by"], act["reason"]) == ("retry", "mira", "a bad day")


async def test_steps_are_skipped_resolved_and_marked(http: httpx.AsyncClient, torn: str) -> None:
    plan = await http.post(f"{RUNS}/{torn}/resolutions?dry_run=1", json={"step": "publish"})
    assert (plan.json()["verb"], plan.json()["keeps"]) == ("resolve", ["load"])
    plan = await http.post(f"{RUNS}/{torn}/marks?dry_run=1", json={"step": "publish", "code": 1})
    assert (plan.json()["verb"], [each["step"] for each in plan.json()["again"]]) == (
        "retry",
        ["publish"],
    )
    bad = await http.post(f"{RUNS}/{torn}/marks", json={"step": "publish", "code": 2})
    assert problem(bad) == (422, "invalid_arguments")
    nothing = await http.post(f"{RUNS}/{torn}/skips", json={"step": "pubish"})
    assert problem(nothing) == (404, "not_found")
    got = await http.post(f"{RUNS}/{torn}/skips", json={"step": "publish", "reason": "later"})
    assert got.status_code == 200
    await standing(http, torn, "succeeded")
    rows = (await http.get(f"{RUNS}/{torn}/steps")).json()["items"]
    assert [(row["name"], row["state"], row["code"]) for row in rows] == [
        ("load", "succeeded", 4),
        ("publish", "skipped", 3),
    ]
    again = await http.post(f"{RUNS}/{torn}/skips", json={"step": "publish"})
    assert (problem(again), again.json()["what"]) == ((409, "refused"), f"run {rows[1]['run']}")
    children = (await http.get(f"{RUNS}/{torn}/children")).json()["items"]
    assert [(each["step"], each["parent_id"]) for each in children] == [
        ("load", torn),
        ("publish", torn),
    ]
    graph = (await http.get(f"{RUNS}/{torn}/graph")).json()
    assert graph["edges"] == [{"from": "load", "to": "publish", "label": None, "hard": True}]
    picture = await http.get(f"{RUNS}/{torn}/graph", headers={"Accept": "image/svg+xml"})
    assert (picture.headers["content-type"], picture.text[:5]) == ("image/svg+xml", "<svg ")
    assert picture.text == (await http.get(f"{RUNS}/{torn}/graph.svg")).text


async def test_new_runs_from_old_ones(http: httpx.AsyncClient, torn: str) -> None:
    forked = await http.post(f"{RUNS}/{torn}/forks", json={"from_step": "publish"})
    assert (forked.status_code, forked.json()["origin"]) == (201, {"id": torn, "verb": "fork"})
    again = await http.post(f"{RUNS}/{torn}/reruns")
    made = again.json()
    assert (again.headers["location"], made["args"]) == (f"{RUNS}/{made['id']}", {"day": "bad"})
    seen = await http.post(f"{RUNS}/{torn}/acknowledgements", json={"reason": "known"})
    assert seen.json()["acknowledged_by"] == "mira"
    twice = await http.post(f"{RUNS}/{torn}/acknowledgements")
    assert problem(twice) == (409, "refused")
    done = await http.post(f"{RUNS}/{torn}/cancellations")
    assert (problem(done), done.json()["detail"]) == (
        (409, "refused"),
        f"nightly {torn} has ended already (failed)",
    )


async def test_a_cancel_and_force(http: httpx.AsyncClient) -> None:
    run = await start(http, "greet")
    forced = await http.post(f"{RUNS}/{run}/retries", json={"force": True})
    assert problem(forced) == (422, "invalid_arguments")
    got = await http.post(f"{RUNS}/{run}/cancellations", json={"reason": "wrong"})
    assert (got.status_code, got.json()["state"], got.json()["reason"]) == (
        200,
        "cancelled",
        "wrong",
    )
    assert got.json()["error"] is None
    (act,) = (await http.get(f"{RUNS}/{run}/events")).json()["items"]
    assert (act["verb"], act["reason"]) == ("cancel", "wrong")
    bad = await http.post(f"{RUNS}/{run}/retries", json={"args": {"nam": "x"}})
    assert bad.json()["problems"] == {"nam": "is not an argument. Did you mean name?"}


@pytest.fixture
async def yard(open_house: Callable[..., Any]) -> AsyncIterator[httpx.AsyncClient]:
    """The doors of a program whose jobs wait for people, and a worker of it."""
    house, http = await open_yard(open_house)
    worker = Worker(make(), replace(house.config, queues={"default": 4}))
    await worker.start()
    yield http
    await worker.stop(grace=1)


async def test_questions_and_signals(yard: httpx.AsyncClient) -> None:
    http = yard
    asking, listening = await start(http, "ask"), await start(http, "listen")

    async def asked() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await http.get(f"{RUNS}/{asking}/questions")).json()["items"]
        return found

    (question,) = await until(asked)
    assert (question["text"], question["to"], question["schema"]) == (
        "May it sail?",
        "master",
        {"type": "boolean"},
    )
    waits = await standing(http, asking, "waiting")
    assert (waits["error"], waits["reason"]) == (None, "waits for question May it sail?")
    why = (await http.get(f"{RUNS}/{asking}/why")).json()
    assert why["causes"][0]["cause"] == "question"
    bad = await http.post(f"{RUNS}/{asking}/answers", json={"value": "perhaps"})
    assert problem(bad) == (422, "invalid_arguments")
    assert bad.json()["problems"] == {"value": "the value must be boolean"}
    got = await http.post(f"{RUNS}/{asking}/answers", json={"value": True, "reason": "calm sea"})
    assert got.status_code == 200
    (act,) = (await http.get(f"{RUNS}/{asking}/events")).json()["items"]
    assert (act["verb"], act["by"], act["reason"]) == ("answer", "mira", "calm sea")
    assert (await standing(http, asking, "succeeded"))["result"] == "sails"
    late = await http.post(f"{RUNS}/{asking}/answers", json={"value": True})
    assert problem(late) == (404, "not_found")
    sent = {"name": "horn", "value": {"token": "x"}, "reason": "fog"}
    await http.post(f"{RUNS}/{listening}/signals", json=sent)
    (act,) = (await http.get(f"{RUNS}/{listening}/events")).json()["items"]
    assert (act["verb"], act["by"], act["reason"]) == ("signal", "mira", "fog")
    await standing(http, listening, "succeeded")
    (signal,) = (await http.get(f"{RUNS}/{listening}/signals")).json()["items"]
    assert (signal["name"], signal["value"], signal["by"]) == ("horn", {"token": "•••"}, "mira")
    records = (await http.get(f"{RUNS}/{listening}/checkpoints")).json()["items"]
    assert [(each["key"], each["value"]["name"], each["value"]["value"]) for each in records] == [
        ("wait:1", "horn", {"token": "•••"})
    ]
    assert [(each["by"], each["came_at"]) for each in records] == [("mira", signal["at"])]
    (answered,) = (await http.get(f"{RUNS}/{asking}/checkpoints")).json()["items"]
    assert (answered["by"], answered["came_at"] > answered["at"]) == ("mira", True)
    kept = (await http.get(f"/runs/{asking}?tab=checkpoints")).text
    assert "question: May it sail?: <code>true</code>" in kept
    assert "answered by mira at" in kept
    over = await http.post(f"{RUNS}/{listening}/signals", json={"name": "horn"})
    assert problem(over) == (409, "refused")


async def test_who_holds_the_key_that_a_repair_wants_and_since_when(
    open_house: Callable[..., Any],
) -> None:
    program = make()

    @program.workflow(overlap="skip_if_running")
    def haul() -> None:
        """Haul what was lifted."""

    @haul.step
    def rope() -> None:
        raise ValueError("it tears")

    house, http = await open_yard(open_house, program=program)
    first = await start(http, "haul")
    worker = Worker(program, replace(house.config, queues={"default": 4}))
    await worker.start()
    await standing(http, first, "failed")
    await worker.stop(grace=1)
    second = (await http.get(f"{RUNS}/{await start(http, 'haul')}")).json()
    for verb, asked in (("retries", {}), ("forks", {"from_step": "rope"})):
        got = await http.post(f"{RUNS}/{first}/{verb}", json={"reason": "again", **asked})
        assert problem(got) == (409, "overlapping"), got.text
        assert (got.json()["held_by"]["run"], got.json()["since"]) == (
            second["id"], second["created_at"],
        )  # fmt: skip


DEEP = f'{{"day": {"[" * 900}{"]" * 900}}}'


@pytest.mark.parametrize("args", [DEEP, '{"day": {"\\udfff": 1}}', '{"\\udfff": 1}'])
async def test_arguments_that_cannot_be_kept_are_refused(
    http: httpx.AsyncClient, args: str
) -> None:
    run = await start(http, "report", day="2026-11-30")
    await http.post(f"{RUNS}/{run}/cancellations", json={"reason": "x"})
    text = f'{{"reason": "x", "args": {args}}}'
    for path in ("retries", "retries?dry_run=1"):
        got = await http.post(
            f"{RUNS}/{run}/{path}", content=text, headers={"Content-Type": "application/json"}
        )
        assert (path, got.status_code, got.json()["code"]) == (path, 422, "invalid_arguments")
