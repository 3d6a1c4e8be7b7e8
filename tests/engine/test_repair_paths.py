"""Steps far down are named as plans print them: by the way to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import koken
from koken import AsyncContext
from koken.errors import InvalidArguments, NotFound
from koken.model.run import Run
from koken.testing import TestClient

app = koken.App("paths")


@app.workflow
def inner(day: str = "monday") -> None:
    """A workflow within another."""


@inner.step
def fetch(day: str) -> str:
    return day


@inner.step
def parse(fetch: str) -> int:
    return len(fetch)


@app.workflow
def outer() -> None:
    """Made of jobs."""


outer.step(inner, name="sub")


@outer.step
def last(sub: int | None = None) -> str:
    return f"{sub}"


@app.workflow
def many() -> None:
    """A job for each item."""


@many.step
def days() -> list[str]:
    return ["monday", "tuesday"]


many.step(inner, name="each", each={"day": days})


@app.job
def load() -> str:
    return "loaded"


@app.job
async def through(ctx: AsyncContext) -> str:
    return await ctx.step("kid", load)


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app, by="anna") as made:
        yield made


def kids(client: TestClient, job: str) -> list[Run[Any]]:
    """The runs of a job that others have started."""
    with psycopg.connect(client.database_url) as connection:
        rows = connection.execute(
            "select r.id from koken.run r join koken.job j on j.id = r.job_id"
            " where r.parent_id is not null and r.step_no is null and j.name = %s order by r.id",
            (job,),
        ).fetchall()
    return [client.get(row[0]) for row in rows]


def test_each_verb_takes_a_way(client: TestClient) -> None:
    client.failing(parse, OSError("no file"))
    run = client.run(outer)
    plan = client.plan("retry", run)
    assert [each.step for each in plan.again] == ["sub/parse"]
    (child,) = kids(client, "inner")
    for plan in (
        client.plan("retry", run, from_step="sub/parse"),
        client.plan("skip", run, "sub/parse"),
        client.plan("resolve", run, "sub/parse", result=3),
        client.plan("fork", run, "sub/parse"),
        client.plan("retry", run, from_step=f"{child.id}/parse"),
    ):
        assert (plan.run, plan.from_step) == (child.id, "parse")
    assert client.retry(run, from_step="sub/parse").id == run.id
    done = client.fast_forward(run)
    assert (done.state, client.get(child).state) == ("succeeded", "succeeded")
    fork = client.fork(run, "sub/parse")
    assert (fork.job, fork.origin and fork.origin.id) == ("inner", child.id)


@pytest.mark.parametrize("code", [0, 3, 4])
def test_mark_takes_a_way(client: TestClient, code: int) -> None:
    client.failing(parse, OSError("no file"), times=1)
    run = client.run(outer)
    assert client.mark(run, "sub/parse", code).id == run.id
    client.drain()
    assert client.get(run).state == "succeeded"


def test_a_result_is_checked_by_the_type_at_the_end_of_the_way(client: TestClient) -> None:
    client.failing(parse, OSError("no file"))
    run = client.run(outer)
    with pytest.raises(InvalidArguments, match=r"inner\.parse\(result\)"):
        client.resolve(run, "sub/parse", result="three")


def test_the_way_to_the_step_of_an_item(client: TestClient) -> None:
    client.failing(parse, OSError("no file"), times=2)
    run = client.run(many)
    plan = client.plan("retry", run)
    assert [each.step for each in plan.again] == ["each[0]/parse", "each[1]/parse", "each"]
    client.retry(run, from_step="each[1]/parse")
    client.drain()
    assert sorted(each.state for each in kids(client, "inner")) == ["failed", "succeeded"]


def test_the_way_up_to_a_body(client: TestClient) -> None:
    client.failing(load, OSError("no file"))
    run = client.run(through)
    (kid,) = kids(client, "load")
    plan = client.plan("retry", kid)
    assert [each.step for each in plan.again] == ["load", f"{run.id}/through"]
    assert client.plan("retry", kid, from_step=f"{run.id}/through").run == run.id


def test_ways_that_lead_nowhere(client: TestClient) -> None:
    run = client.run(outer)
    other = client.run(load)
    for path, message in (
        ("last/x", f"step last of run {run.id} has started no run; there is no 'last/x'"),
        ("sup/parse", f"run {run.id} has no step 'sup'; it has sub, last"),
        ("sub/x", "has no step 'x'; it has fetch, parse"),
        (f"{other.id}/load", f"run {other.id} is no part of what run {run.id} is a part of"),
        ("99/load", "there is no run 99"),
    ):
        with pytest.raises(NotFound, match=message):
            client.plan("retry", run, from_step=path)
    with pytest.raises(NotFound, match="has no step 'a/b'"):
        client.plan("retry", other, from_step="a/b")
