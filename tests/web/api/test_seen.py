"""What those are told who may change something and not read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from koken.web.house import House
from tests.web.api.yard import open_yard, problem, start, token

RUNS = "/api/v1/runs"
Headers = dict[str, str]


@pytest.fixture
async def ended(house: House) -> str:
    """A run with arguments that has ended."""
    run = await start(house.http, "greet", name="Ada")
    await house.http.post(f"{RUNS}/{run}/cancellations", json={"reason": "theirs"})
    return run


@pytest.fixture
async def blind(house: House) -> Headers:
    """Headers of who may do everything with runs but read."""
    return await token(house, "start", "operate")


def brief(run: str, state: str) -> dict[str, str]:
    """What is told of a run."""
    return {"id": run, "job": "greet", "state": state, "url": f"http://127.0.0.1:7070/runs/{run}"}


@pytest.mark.parametrize(
    ("path", "body", "status", "told"),
    [
        ("1/acknowledgements", {}, 200, brief("1", "cancelled")),
        ("1/retries", {}, 200, brief("1", "ready")),
        ("1/reruns", {}, 201, brief("2", "ready")),
    ],
)
async def test_a_change_tells_of_a_run_no_more_than_which_it_is(
    http: httpx.AsyncClient,
    ended: str,
    blind: Headers,
    path: str,
    body: Any,
    status: int,
    told: dict[str, str],
) -> None:
    got = await http.post(f"{RUNS}/{path}", json=body, headers=blind)
    assert (got.status_code, got.json()) == (status, told)
    assert problem(await http.get(f"{RUNS}/1", headers=blind)) == (403, "forbidden")


async def test_a_signal_and_a_cancel_tell_no_more_either(
    http: httpx.AsyncClient, blind: Headers
) -> None:
    run = await start(http, "greet", name="Ada", headers=blind)
    got = await http.post(f"{RUNS}/{run}/signals", json={"name": "horn"}, headers=blind)
    assert (got.status_code, got.json()) == (200, brief(run, "ready"))
    got = await http.post(f"{RUNS}/{run}/cancellations", headers=blind)
    assert (got.status_code, got.json()) == (200, brief(run, "cancelled"))


async def test_what_was_told_to_a_reader_is_not_told_again_to_who_reads_no_more(
    house: House, http: httpx.AsyncClient, ended: str
) -> None:
    headers = await token(house, "read", "operate") | {"Idempotency-Key": "k"}
    first = await http.post(f"{RUNS}/{ended}/reruns", headers=headers)
    assert first.json()["args"] == {"name": "Ada"}
    async with house.db.transaction() as tx:
        await tx.execute("update koken.token set rights = '{operate}'")
    house.credentials.forget()
    again = await http.post(f"{RUNS}/{ended}/reruns", headers=headers)
    assert problem(again) == (403, "forbidden")


@pytest.mark.parametrize("what", ["retries", "reruns", "skips", "marks"])
async def test_a_plan_is_for_readers(
    http: httpx.AsyncClient, ended: str, blind: Headers, what: str
) -> None:
    body = {"step": "load", "code": 4} if what == "marks" else {}
    got = await http.post(f"{RUNS}/{ended}/{what}?dry_run=1", json=body, headers=blind)
    assert problem(got) == (403, "forbidden")
    assert "may not read" in got.json()["detail"]


async def test_bulks_queues_and_backfills_tell_what_was_changed(
    open_house: Callable[..., Any],
) -> None:
    house, http = await open_yard(open_house)
    await start(http, "lift")
    blind = await token(house, "operate")
    given = {"verb": "cancel", "q": "args.ship:ada", "reason": "fog"}
    made = await http.post("/api/v1/bulks", json=given, headers=blind)
    assert (made.status_code, made.json()) == (
        201, {"id": "1", "verb": "cancel", "state": "running"},
    )  # fmt: skip
    paused = await http.post("/api/v1/bulks/1/pauses", headers=blind)
    assert paused.json() == {"id": "1", "verb": "cancel", "state": "paused"}
    limited = await http.put("/api/v1/queues/default", json={"limit": 4}, headers=blind)
    assert limited.json() == {
        "name": "default", "limit": 4, "rate": None, "burst": 1, "paused_at": None,
    }  # fmt: skip
    stretch = {"from": "2026-03-08T00:00:00Z", "to": "2026-03-08T12:00:00Z"}
    path = "/api/v1/schedules/1/backfills"
    assert problem(await http.post(f"{path}?dry_run=1", json=stretch, headers=blind)) == (
        403, "forbidden",
    )  # fmt: skip
    done = await http.post(path, json=stretch, headers=blind)
    assert sorted(done.json()) == ["existed", "job", "name", "schedule", "started"]
