from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from pydantic import TypeAdapter

from koken.testing import TestClient
from tests.programs import superposition as program
from tests.programs.superposition import (
    JobRequest,
    Reduce,
    ReduceResult,
    Webhook,
    app,
    deliver,
    execute_job,
    reduce,
)

ORDER = Webhook(webhook_name="orders", data={"id": 7})


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    program.overrides.update(acme=["a", "#b", "#c", "d"], umbrella=["#e"])
    yield
    for each in (program.sent, program.overrides, program.versions):
        each.clear()  # type: ignore[attr-defined]


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app, by="datron", workspace="acme") as client:
        yield client


def test_requests_are_told_apart_by_their_type(client: TestClient) -> None:
    read = TypeAdapter[Webhook | Reduce](JobRequest)
    webhook = execute_job(client, read.validate_python(ORDER.model_dump()))
    reduction = execute_job(client, read.validate_python({"type": "REDUCE"}))
    assert [run.job for run in (webhook, reduction)] == ["deliver", "reduce"]
    assert client.result(webhook) == 200
    assert client.result(reduction) == ReduceResult(dropped=2)
    assert program.overrides == {"acme": ["a", "d"], "umbrella": ["#e"]}
    assert client.get(reduction).trigger.by == "datron"


def test_each_webhook_has_a_key_of_its_own(client: TestClient) -> None:
    client.failing(deliver, ConnectionError("reset"), times=2)
    began = client.now
    run = client.start(deliver, ORDER)
    assert client.result(run) == 200
    assert client.now - began == timedelta(seconds=3)
    client.run(deliver, ORDER)
    (first, second) = program.sent
    assert first[:2] == second[:2] == ("orders", {"id": 7})
    assert first[2] != second[2]


def test_one_reduction_of_a_workspace_at_a_time(client: TestClient) -> None:
    client.failing(reduce, OSError("reset"))
    client.replacing(reduce, lambda ctx: ReduceResult(dropped=0))
    first, second = client.start(reduce, Reduce()), client.start(reduce, Reduce())
    other = client.using(workspace="umbrella").start(reduce, Reduce())
    client.drain()
    assert [client.get(run).state for run in (first, second)] == [
        "failed",
        "succeeded",
    ]
    assert client.using(workspace="umbrella").get(other).state == "succeeded"
