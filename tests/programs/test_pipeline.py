from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from koken.testing import TestClient
from tests.programs.pipeline import app, pipeline

FRIDAY = datetime.fromisoformat("2026-03-06T20:00:00-05:00")
SUNDAY = datetime.fromisoformat("2026-03-15T20:00:00-04:00")
TUESDAY = datetime.fromisoformat("2026-03-10T20:00:00-04:00")


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


def codes(client: TestClient) -> str:
    """The numeric view of the latest run, for scripts."""
    return " ".join(f"{step.name}:{step.code}" for step in client.steps("pipeline"))


@pytest.mark.parametrize(
    ("at", "weekly", "monthly"),
    [(FRIDAY, "succeeded", "skipped"), (SUNDAY, "succeeded", "succeeded"),
     (TUESDAY, "skipped", "skipped")],
)  # fmt: skip
def test_gates_of_days_and_of_times(
    client: TestClient, at: datetime, weekly: str, monthly: str
) -> None:
    client.now = at.replace(minute=0)
    run = client.run(pipeline.using(logical_time=at))
    assert client.states(run) == {
        "100": "succeeded",
        "101": weekly,
        "102": monthly,
        "103": "waiting",
        "154": "blocked",
        "155": "blocked",
    }
    run = client.fast_forward(run)
    assert (run.state, client.now) == ("failed", at.replace(hour=21, minute=30))
    assert client.states(run) == {
        "100": "succeeded",
        "101": weekly,
        "102": monthly,
        "103": "succeeded",
        "154": "failed",
        "155": "blocked",
    }


def test_runs_every_evening_in_new_york(client: TestClient) -> None:
    client.now = datetime.fromisoformat("2026-03-10T19:59:00-04:00")
    (run,) = client.advance("1m")
    assert (run.job, run.state, run.trigger.kind) == ("pipeline", "waiting", "schedule")
    assert codes(client) == "100:4 101:3 102:3 103:0 154:1 155:1"
    client.advance("2h")
    assert codes(client) == "100:4 101:3 102:3 103:4 154:-1 155:0"
    assert client.get(run).reason.startswith("StepFailed: step 154: ")


def test_without_commands(client: TestClient) -> None:
    client.now = TUESDAY
    seen: list[str] = []

    def instead(name: str) -> None:
        client.replacing(name, lambda: seen.append(name))

    for name in pipeline.steps:
        instead(name)
    assert client.fast_forward(client.start(pipeline)).state == "succeeded"
    assert seen == ["100", "103", "154", "155"]
