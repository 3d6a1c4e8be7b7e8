"""Repair and the calendar: a window that is still open holds, one that has closed does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import psycopg
import pytest

import koken
from koken.testing import TestClient

app = koken.App("calendar")
OPENS = datetime(2026, 3, 2, 22, tzinfo=UTC)
CLOSES = datetime(2026, 3, 3, 6, tzinfo=UTC)


@app.workflow
def nightly() -> None:
    """By night."""


@nightly.step(window="22:00-06:00", queue="disk")
def copy() -> str:
    return "copied"


@nightly.step(window="22:00-06:00", queue="disk")
def check(copy: str) -> str:
    return "checked"


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app, by="anna") as made:
        made.now = OPENS
        yield made


@contextmanager
def paused(client: TestClient) -> Iterator[None]:
    """The disk is not there for a while."""
    with psycopg.connect(client.database_url, autocommit=True) as connection:
        connection.execute("update koken.queue set paused_at = koken.now() where name = 'disk'")
        yield
        connection.execute("update koken.queue set paused_at = null where name = 'disk'")


def states(client: TestClient, run: koken.Run[None]) -> dict[str, str]:
    return {row.name: row.state.value if row.state else "none" for row in client.steps(run)}


def test_a_window_that_is_still_open_holds(client: TestClient) -> None:
    client.failing(copy, OSError("away"))
    run = client.run(nightly)
    assert run.state == "failed"
    plan = client.plan("retry", run)
    assert [each.closes for each in (*plan.again, *plan.then)] == [CLOSES, CLOSES]
    with paused(client):
        client.retry(run)
        client.advance("9h")
    assert states(client, run) == {"copy": "skipped", "check": "skipped"}


def test_a_window_that_has_closed_does_not_hold(client: TestClient) -> None:
    client.failing(copy, OSError("away"))
    run = client.run(nightly)
    client.now = datetime(2026, 3, 3, 9, tzinfo=UTC)
    client.retry(run)
    client.drain()
    assert states(client, run) == {"copy": "succeeded", "check": "succeeded"}
    fork = client.fork(run, "copy")
    client.drain()
    assert states(client, fork) == {"copy": "succeeded", "check": "succeeded"}


def test_a_fork_keeps_a_window_that_is_still_open(client: TestClient) -> None:
    run = client.run(nightly)
    with paused(client):
        fork = client.fork(run, "check")
        client.advance("9h")
    assert states(client, fork) == {"copy": "succeeded", "check": "skipped"}
