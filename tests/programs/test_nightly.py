from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

import koken
from koken.testing import TestClient, call
from tests.programs import nightly as program
from tests.programs.nightly import (
    Big,
    Small,
    Table,
    apologise,
    app,
    crunch,
    nightly,
    publish,
    publish_site,
    table,
    unpublish,
)

DAY = date(2026, 3, 6)
ONE = datetime(2026, 3, 6, 1, 0, tzinfo=UTC)
"""At night: the gate of ``publish`` is still shut."""
HALF_PAST_FOUR = datetime(2026, 3, 6, 4, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def calls() -> Iterator[list[str]]:
    """What the steps did; there are three small files."""
    program.source.update(north=100, south=200, west=50)
    yield program.calls
    program.source.clear()
    program.calls.clear()


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app) as client:
        client.now = ONE
        yield client


def test_small_night(client: TestClient, calls: list[str]) -> None:
    run = client.run(nightly, day=DAY)
    assert run.state == "waiting"
    assert client.states(run) == {
        "files": "succeeded",
        "table": "succeeded",
        "size": "succeeded",
        "crunch": "skipped",
        "add_up": "succeeded",
        "publish": "waiting",
        "site": "blocked",
        "apologise": "blocked",
    }
    assert client.states(run, "table") == {
        "table[0]": "succeeded",
        "table[1]": "succeeded",
        "table[2]": "succeeded",
    }
    assert calls == [
        "files 2026-03-06",
        "table north",
        "table south",
        "table west",
        "size",
        "add_up north,south,west",
    ]
    (held,) = (step for step in client.steps(run) if step.name == "publish")
    assert held.held_until == HALF_PAST_FOUR
    run = client.fast_forward(run)
    assert (run.state, client.now) == ("succeeded", HALF_PAST_FOUR)
    assert calls[6:] == ["publish Small 350", "publish_site"]
    assert client.states(run) == {
        "files": "succeeded",
        "table": "succeeded",
        "size": "succeeded",
        "crunch": "skipped",
        "add_up": "succeeded",
        "publish": "succeeded",
        "site": "succeeded",
        "apologise": "skipped",
    }
    assert client.attempts(run) == 1
    reasons = {step.name: step.reason for step in client.steps(run) if step.reason}
    assert reasons == {
        "crunch": 'size is not "big"',
        "apologise": "none of the steps before it failed",
    }


def test_big_night(client: TestClient, calls: list[str]) -> None:
    program.source["east"] = 400
    run = client.fast_forward(client.start(nightly, DAY))
    assert (run.state, client.now) == ("succeeded", HALF_PAST_FOUR)
    states = client.states(run)
    assert (states["crunch"], states["add_up"]) == ("succeeded", "skipped")
    assert calls[-3:] == ["crunch north,south,west,east", "publish Big 750", "publish_site"]


def test_schedule_gives_the_day(client: TestClient, calls: list[str]) -> None:
    client.now = datetime(2026, 3, 6, 18, 59, tzinfo=UTC)
    run, site = client.advance("1m")
    assert (run.job, run.args, run.trigger.kind) == ("nightly", {"day": "2026-03-06"}, "schedule")
    assert (site.job, site.root_id) == ("publish_site", run.id)
    assert run.state == "succeeded"  # half past four of that day is over
    assert calls[0] == "files 2026-03-06"


def test_misses_within_the_rule_are_skipped(client: TestClient, calls: list[str]) -> None:
    program.source.update({f"part{n}": 1 for n in range(16)}, broken=-1)
    run = client.fast_forward(client.start(nightly, DAY))
    assert run.state == "succeeded"
    states = client.states(run, "table")
    assert [name for name, state in states.items() if state != "succeeded"] == ["table[19]"]
    assert states["table[19]"] == "skipped"
    assert client.attempts(run, "table[19]") == 2
    assert calls[-2:] == ["publish Small 366", "publish_site"]


def test_too_many_misses_fail(client: TestClient, calls: list[str]) -> None:
    program.source.update({f"part{n}": 1 for n in range(15)}, broken=-1, torn=-1)
    run = client.fast_forward(client.start(nightly, DAY))
    assert run.state == "failed"
    assert client.states(run) == {
        "files": "succeeded",
        "table": "failed",
        "size": "blocked",
        "crunch": "blocked",
        "add_up": "blocked",
        "publish": "blocked",
        "site": "blocked",
        "apologise": "blocked",
    }
    assert "2 of 20 items failed (accepted: 1)" in run.reason
    assert "size" not in calls


def test_the_site_fails(client: TestClient, calls: list[str]) -> None:
    client.failing(publish_site, ConnectionError("reset"))
    run = client.fast_forward(client.start(nightly, DAY))
    assert run.state == "failed"
    assert client.states(run) == {
        "files": "succeeded",
        "table": "succeeded",
        "size": "succeeded",
        "crunch": "skipped",
        "add_up": "succeeded",
        "publish": "succeeded",
        "site": "failed",
        "apologise": "succeeded",
        "undo publish": "succeeded",
    }
    assert calls[-3:] == ["publish Small 350", "apologise", "unpublish page of 350 rows"]
    assert [found.state for found in client.started(publish_site)] == ["failed"]


def test_cancelled_at_the_gate(client: TestClient, calls: list[str]) -> None:
    run = client.run(nightly, DAY)
    assert client.cancel(run, reason="wrong files").phase == "cancelling"
    (run,) = client.drain()
    assert (run.state, run.reason) == ("cancelled", "wrong files")
    assert client.states(run) == {
        "files": "succeeded",
        "table": "succeeded",
        "size": "succeeded",
        "crunch": "skipped",
        "add_up": "succeeded",
        "publish": "cancelled",
        "site": "cancelled",
        "apologise": "cancelled",
    }
    assert calls[-1] == "add_up north,south,west"


def test_worker_killed(client: TestClient, calls: list[str]) -> None:
    program.source["east"] = 400
    run = client.start(nightly, day=DAY)
    client.replacing(crunch, lambda table: client.kill_worker(), times=1)
    assert client.fast_forward(run).state == "succeeded"
    assert client.states(run)["files"] == "succeeded"
    assert calls == [
        "files 2026-03-06",
        "table north",
        "table south",
        "table west",
        "table east",
        "size",
        "crunch north,south,west,east",
        "publish Big 750",
        "publish_site",
    ]
    assert client.attempts(run, "crunch") == 1


def test_workers_killed_again_and_again(client: TestClient, calls: list[str]) -> None:
    program.source["east"] = 400
    run = client.start(nightly, day=DAY)
    client.replacing(crunch, lambda table: client.kill_worker())
    client.fast_forward(run)
    states = client.states(run)
    assert (states["files"], states["crunch"], client.get(run).state) == (
        "succeeded",
        "failed",
        "failed",
    )
    assert calls.count("files 2026-03-06") == 1


def test_steps_are_tried_twice(client: TestClient, calls: list[str]) -> None:
    client.failing("files", OSError("reset"))
    client.failing("nightly.table", koken.Snooze("1h", "locked"))
    client.failing(nightly.steps["size"], TimeoutError("slow"))
    client.failing(publish, OSError("full"), times=2)
    run = client.fast_forward(client.start(nightly, DAY))
    assert (run.state, run.reason) == ("failed", "StepFailed: step publish: OSError: full")
    assert {name: client.attempts(run, name) for name in ("files", "table[0]", "size")} == {
        "files": 2,
        "table[0]": 1,
        "size": 2,
    }
    assert client.now == HALF_PAST_FOUR + timedelta(seconds=10)
    assert calls.count("files 2026-03-06") == 1


def test_steps_alone() -> None:
    north = Table(name="north", rows=100)
    assert call(table, file=Path("2026-03-06/north")) == north
    assert call(nightly.steps["size"], table=[north]) == "small"
    assert call(crunch, [north]) == Big(rows=100)
    assert call(publish, add_up=Small(rows=7)) == "page of 7 rows"
    assert call(apologise) is None
    assert call(nightly.steps["site"]) == "https://example.org"
    unpublish("page")
    assert program.calls[-1] == "unpublish page"
