"""Runs over HTTP: started, found, looked at, by whom they may be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from koken.engine.publish import publish
from koken.web.house import House
from tests.web.api.yard import problem, start, token

RUNS = "/api/v1/runs"
CHANGING = ("created_at", "logical_time")


async def test_a_run_is_started_and_looked_at(http: httpx.AsyncClient) -> None:
    body = {"job": "report", "args": {"size": "big", "password": "hush"}, "priority": -3}
    got = await http.post(RUNS, json=body)
    assert (got.status_code, got.headers["location"]) == (201, "/api/v1/runs/1")
    plain = got.json()
    assert plain == (await http.get("/api/v1/runs/1")).json()
    times = [datetime.fromisoformat(plain.pop(name)) for name in CHANGING]
    assert times[0] == times[1]
    assert plain == {
        "id": "1",
        "job": "report",
        "version": 1,
        "workspace": "default",
        "state": "ready",
        "phase": None,
        "step": None,
        "reason": None,
        "error": None,
        "args": {"day": "2026-11-30", "customer": None, "size": "big", "password": "•••"},
        "result": None,
        "masked": ["args.password"],
        "progress": {"percent": None, "message": ""},
        "subject": None,
        "trigger": {"kind": "user", "by": "mira", "schedule": None, "due_at": None, "since": None},
        "queue": "reports",
        "priority": -3,
        "attempt": 0,
        "max_attempts": 1,
        "infra_attempt": 0,
        "max_infra_attempts": 3,
        "wait": None,
        "worker": None,
        "idempotency_key": None,
        "parent_id": None,
        "root_id": "1",
        "step_no": None,
        "undoes_id": None,
        "is_workflow": False,
        "is_item": False,
        "settle": None,
        "children": None,
        "origin": None,
        "cancelling": False,
        "actions": ["cancel"],
        "started_at": None,
        "claimed_at": None,
        "ended_at": None,
        "idle": 0.0,
        "cancelled_by": None,
        "acknowledged_by": None,
        "url": "http://127.0.0.1:7070/runs/1",
    }


async def test_options_are_read_from_texts(http: httpx.AsyncClient) -> None:
    options = {
        "run_at": "2100-01-01T00:00:00+01:00",
        "queue": "other",
        "logical_time": "2026-03-08T12:00:00Z",
        "overlap": "refuse",
        "args": None,
    }
    plain = (await http.post(RUNS, json={"job": "greet", **options})).json()
    assert (plain["state"], plain["queue"]) == ("waiting", "other")
    assert plain["wait"]["until"] == "2099-12-31T23:00:00+00:00"
    assert plain["logical_time"] == datetime(2026, 3, 8, 12, tzinfo=UTC).isoformat()
    again = await http.post(RUNS, json={"job": "greet", "delay": "5m", "overlap": "refuse"})
    assert problem(again) == (409, "overlapping")
    told = again.json()
    assert (told["what"], told["held_by"]) == (
        "greet", {"run": "1", "job": "greet", "operation": None},
    )  # fmt: skip
    assert told["since"] == plain["created_at"]


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({}, {"job": "is missing"}),
        ({"job": 7}, {"job": "is to be the name of a job"}),
        ({"job": "greet", "nam": 1}, {"nam": "is no field of this request"}),
        ({"job": "greet", "args": []}, {"": "the arguments are no object with named fields"}),
        ({"job": "greet", "args": {"name": 3}}, {"name": "3 is not text"}),
        (
            {"job": "report", "args": {"dya": 1, "customer": {"name": "ann"}}},
            {"dya": "is not an argument. Did you mean day?", "customer.number": "is missing"},
        ),
        ({"job": "report", "args": {"customer": {"name": "a"}}}, {"customer.number": "is missing"}),
        (
            {"job": "greet", "run_at": "2026-11-30T00:00:00"},
            {"run_at": "2026-11-30T00:00:00 has no time zone; add one, such as tzinfo=UTC"},
        ),
        (
            {"job": "greet", "logical_time": "soon"},
            {"logical_time": "'soon' is no instant; write it as 2026-03-08T00:00:00-05:00"},
        ),
        ({"job": "greet", "priority": 70000}, {"priority": "priority is 70000; it is a whole "
          "number from -32768 to 32767, smaller first"}),
    ],
)  # fmt: skip
async def test_what_does_not_fit_is_refused_by_its_place(
    http: httpx.AsyncClient, body: dict[str, Any], problems: dict[str, str]
) -> None:
    got = await http.post(RUNS, json=body)
    assert problem(got) == (422, "invalid_arguments")
    assert got.json()["problems"] == problems
    assert (await http.get(RUNS)).json() == {"items": [], "next": None}


async def test_a_job_that_there_is_not(http: httpx.AsyncClient) -> None:
    got = await http.post(RUNS, json={"job": "gret"})
    assert problem(got) == (404, "not_found")
    assert got.json()["detail"] == "there is no job 'gret'. Did you mean greet?"


async def test_a_job_of_another_program_is_checked_by_its_schema(
    house: House, open_house: Callable[..., Any], database_url: str
) -> None:
    specs = [house.registry.spec(house.registry.get(name)) for name in ("report", "greet")]
    await publish(house.db, "shop", specs, by="anna", whole=True)
    _, http = await open_house(program=database_url)
    for args, problems in (
        ({"dya": 1}, {"dya": "is not an argument. Did you mean day?"}),
        ({"size": "vast"}, {"size": "the value must be one of ['small', 'big']"}),
        ({"customer": {"name": "a", "number": "b"}},
         {"customer.number": "the value must be integer"}),
        ({"customer": 7}, {"customer": "the value cannot be validated by any definition"}),
        ({"dya": 1, "size": "vast", "customer": {"number": "b"}},
         {"dya": "is not an argument. Did you mean day?",
          "customer.name": "is missing",
          "customer.number": "the value must be integer",
          "size": "the value must be one of ['small', 'big']"}),
    ):  # fmt: skip
        got = await http.post(RUNS, json={"job": "report", "args": args})
        assert problem(got) == (422, "invalid_arguments"), args
        told = got.json()["problems"]
        assert told == problems
    plain = (await http.post(RUNS, json={"job": "report", "args": {"size": "big"}})).json()
    assert (plain["args"]["size"], plain["queue"]) == ("big", "reports")


async def test_the_idempotency_key_is_the_runs_own(http: httpx.AsyncClient) -> None:
    body = {"job": "greet", "args": {"name": "ann"}}
    key = {"Idempotency-Key": "o-7"}
    first = await http.post(RUNS, json=body, headers=key)
    again = await http.post(RUNS, json={**body, "idempotency_key": "o-7"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.json()["id"], first.json()["idempotency_key"]) == (again.json()["id"], "o-7")
    other = await http.post(RUNS, json={"job": "greet", "args": {"name": "bob"}}, headers=key)
    assert problem(other) == (409, "key_conflict")
    both = await http.post(RUNS, json={**body, "idempotency_key": "o-8"}, headers=key)
    assert (problem(both), both.json()["problems"]) == (
        (422, "invalid_arguments"),
        {"idempotency_key": "is another one than the header's"},
    )
    for bad in ("", " ", "x" * 256, "é"):
        got = await http.post(RUNS, json=body, headers={"Idempotency-Key": bad.encode()})
        assert problem(got) == (422, "invalid_arguments"), bad
    assert len((await http.get(RUNS)).json()["items"]) == 1


async def test_many_are_started_or_none(http: httpx.AsyncClient) -> None:
    rows = [{"name": "ann"}, {"name": 3}]
    bad = await http.post(f"{RUNS}/batch", json={"job": "greet", "rows": rows})
    assert bad.json()["problems"] == {"rows[1].name": "3 is not text"}
    one = await http.post(
        f"{RUNS}/batch", json={"job": "greet", "rows": [], "logical_time": "2026-03-08T12:00:00Z"}
    )
    assert one.json()["problems"] == {"logical_time": "is for one run"}
    got = await http.post(f"{RUNS}/batch", json={"job": "greet", "rows": [{"name": "ann"}, {}]})
    assert got.status_code == 201
    assert [(each["id"], each["args"]) for each in got.json()["items"]] == [
        ("1", {"name": "ann"}),
        ("2", {"name": "world"}),
    ]


async def test_by_the_name_of_a_job_it_is_the_last_run(http: httpx.AsyncClient) -> None:
    await start(http, "greet")
    last = await start(http, "greet")
    assert (await http.get(f"{RUNS}/greet")).json()["id"] == last
    for named in ("nightly", "9" * 30, "99", "%00", "%F0%9F", "a%2Fb"):
        assert (await http.get(f"{RUNS}/{named}")).status_code in (404, 422), named


PARTS = [
    "", "/steps", "/attempts", "/checkpoints", "/ledger", "/children", "/events", "/why", "/graph",
    "/graph.svg", "/questions", "/signals", "/logs", "/logs/download",
]  # fmt: skip
VERBS = [
    "cancellations", "retries", "reruns", "forks", "skips", "resolutions", "acknowledgements",
]  # fmt: skip


async def test_one_workspace_never_sees_the_runs_of_another(house: House) -> None:
    http: httpx.AsyncClient = house.http
    await start(http, "greet")
    await house.client.using(workspace="acme").start(house.registry.get("greet"))
    acme = await token(house, "read", "start", "operate", workspace="acme")
    viewer = await token(house, "read", workspace="default", name="viewer")
    for part in PARTS:
        assert (await http.get(f"{RUNS}/1{part}", headers=acme)).status_code == 404, part
        assert (await http.get(f"{RUNS}/2{part}", headers=acme)).status_code == 200, part
    bodies = {"answers": {"value": 1}, "signals": {"name": "x"}, "marks": {"step": "a", "code": 4}}
    for verb in (*VERBS, *bodies):
        body = bodies.get(verb, {})
        got = await http.post(f"{RUNS}/1/{verb}", headers=acme, json=body)
        assert problem(got) == (404, "not_found"), verb
        got = await http.post(f"{RUNS}/1/{verb}", headers=viewer, json=body)
        assert problem(got) == (403, "forbidden"), verb
    listed = (await http.get(RUNS, headers=acme)).json()["items"]
    assert [(each["id"], each["workspace"]) for each in listed] == [("2", "acme")]
    assert problem(await http.post(RUNS, headers=viewer, json={"job": "greet"}))[0] == 403
    unknown = await http.get(RUNS, headers={"Authorization": "Bearer koken_nobody"})
    assert (problem(unknown), unknown.headers["www-authenticate"]) == (
        (401, "not_signed_in"),
        "Bearer",
    )


async def test_a_key_of_other_arguments_says_whose_it_is_and_since_when(
    http: httpx.AsyncClient,
) -> None:
    keyed = {"job": "greet", "idempotency_key": "o-7"}
    first = (await http.post(RUNS, json={**keyed, "args": {"name": "Ada"}})).json()
    got = await http.post(RUNS, json={**keyed, "args": {"name": "Eve"}})
    assert problem(got) == (409, "key_conflict")
    assert (got.json()["held_by"]["run"], got.json()["since"]) == (first["id"], first["created_at"])


async def test_what_programs_start_is_found_by_its_trigger(house: House, http: Any) -> None:
    await start(http, "greet")
    robot = await token(house, "read", "start")
    one = await start(http, "greet", headers=robot)
    rows = {"job": "greet", "rows": [{}]}
    got = await http.post(f"{RUNS}/batch", json=rows, headers=robot)
    (many,) = [run["id"] for run in got.json()["items"]]
    for asked, found in (("api", [many, one]), ("user", ["1"]), ("user,api", [many, one, "1"])):
        got = await http.get(RUNS, params={"q": f"trigger:{asked}"}, headers=robot)
        assert [run["id"] for run in got.json()["items"]] == found, asked
    got = await http.get(RUNS, params={"q": "trigger:bogus"}, headers=robot)
    assert (problem(got), got.json()["problems"]["trigger"]) == (
        (422, "invalid_arguments"),
        "'bogus' is no trigger; there are user, schedule, signal, run, api, system",
    )
