"""Each thing that may not be is found."""

from __future__ import annotations

import psycopg
import pytest

import koken
from koken.testing import TestClient
from tests.support import invariants
from tests.workflows.acts import act, never
from tests.workflows.conftest import Hire, client_of, same_server

__all__ = ["client_of", "same_server"]

FLOW, FIRST, SECOND, THIRD = 1, 2, 3, 4


def standing(client_of: Hire) -> TestClient:
    """A workflow whose second step waits, and whose third comes after it."""
    app = koken.App("standing")
    flow = app.workflow("flow")
    flow.step(act("S", "first"), name="first")
    flow.step(never, name="second", after=["first"])
    flow.step(never, name="third", after=["second"])
    client = client_of(app)
    client.failing("second", koken.Snooze("1d"))
    client.run(flow)
    assert invariants.broken(client) == []
    return client


@pytest.mark.parametrize(
    ("set_", "run_id", "broken"),
    [
        ("open_children = 2", FLOW, ["run 1 counts 2 open children, and has 1"]),
        (
            "wake_below = 1",
            FLOW,
            ["run 1 waits (children) for nothing that could come"],
        ),
        (
            "wake_at = null",
            SECOND,
            ["run 3 waits (delay) for nothing that could come"],
        ),
        (
            "wake_at = null, wait_cause = 'signal', wait_for = 'go'",
            SECOND,
            [],
        ),
        (
            "finished_at = koken.now()",
            FLOW,
            [
                "run 1 has ended, and waits (children)",
                "run 3 is waiting below run 1, which has ended",
            ],
        ),
        (
            "started_at = koken.now(), open_needs = null",
            THIRD,
            [
                "run 1 counts 1 open children, and has 2",
                "run 4 began (third) before what it needs had ended: second",
            ],
        ),
        (
            "started_at = koken.now(), open_needs = null, need_rule = 'any_succeeded'",
            THIRD,
            [
                "run 1 counts 1 open children, and has 2",
                "run 4 began (third) before any of what it needs had ended",
            ],
        ),
    ],
)
def test_what_may_not_be(client_of: Hire, set_: str, run_id: int, broken: list[str]) -> None:
    client = standing(client_of)
    with psycopg.connect(client.database_url) as connection:
        connection.execute(f"update koken.run set {set_} where id = {run_id}")
    assert invariants.broken(client) == broken
