"""What is refused before anything is done: values of the wrong kind, texts that cannot be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import psycopg
import pytest

import koken
from koken.client.awaiting import AsyncClient
from koken.errors import InvalidArguments
from koken.testing import TestClient

app = koken.App("door")


@app.workflow
def flow(n: int = 1) -> None:
    """In steps."""


@flow.step
def one(n: int) -> int:
    raise OSError("one")


@flow.step
def two(one: int) -> int:
    return one + 1


@flow.step
def three(two: int = 5) -> int:
    return two


@app.workflow
def spread() -> None:
    """With items."""


@spread.step
def names() -> list[str]:
    raise OSError("names")


@spread.step(each={"name": names})
def greet(name: str) -> str:
    if name == "b":
        raise OSError(name)
    return name.upper()


@spread.step
def join(greet: list[str] | None = None) -> str:
    return "".join(greet or [])


@app.workflow
def maybe() -> None:
    """A step that may have no result."""


@maybe.step
def look() -> int | None:
    raise OSError("look")


@maybe.step
def seen(look: int | None) -> str:
    return f"seen {look}"


@app.job
def plain(n: int = 1) -> int:
    raise OSError(str(n))


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app, by="anna") as made:
        yield made


def test_resolve_wants_a_result_where_a_step_cannot_go_without(client: TestClient) -> None:
    run = client.run(flow)
    with pytest.raises(InvalidArguments) as caught:
        client.resolve(run, "one")
    assert str(caught.value) == (
        f"step one of run {run.id} wants a result: step two takes it as one, which has no default; "
        f"resolve {run.id} one --result JSON gives it. Nothing was done."
    )
    assert caught.value.problems == {
        "result": "is missing: step two takes it as one, which has no default"
    }
    with pytest.raises(InvalidArguments, match="None is not a whole number"):
        client.resolve(run, "one", result=None)
    client.resolve(run, "two")
    assert client.get(run).state == "ready"


def test_so_does_its_mark_and_its_plan_says_what_is_missing(client: TestClient) -> None:
    run = client.run(flow)
    missing = r"step one of run \d+ wants a result: step two takes it as one, .*--result JSON gives"
    with pytest.raises(InvalidArguments, match=missing):
        client.mark(run, "one", 4)
    with pytest.raises(InvalidArguments, match=missing):
        client.plan("resolve", run, "one")
    assert client.get(run).state == "failed"


def test_resolve_wants_a_list_for_the_items_of_another(client: TestClient) -> None:
    run = client.run(spread)
    with pytest.raises(InvalidArguments, match="step greet goes once for each of its items"):
        client.resolve(run, "names")
    client.resolve(run, "names", result=["a", "b"])
    client.drain()
    with pytest.raises(InvalidArguments, match=r"join takes it in greet; skip leaves the item out"):
        client.resolve(run, "greet[1]")
    client.resolve(run, "greet")
    run = client.fast_forward(run)
    assert (run.state, run.result) == ("succeeded", "A")


def test_none_is_a_result_where_the_step_may_return_it(client: TestClient) -> None:
    run = client.run(maybe)
    with pytest.raises(InvalidArguments, match="step seen takes it as look"):
        client.resolve(run, "look")
    client.resolve(run, "look", result=None)
    run = client.fast_forward(run)
    assert (run.state, run.result) == ("succeeded", "seen None")


WRONG: list[tuple[Callable[[Any, Any], object], str]] = [
    (lambda c, r: c.plan("retry", r, "one"), "retry does not take step; it takes from_step and"),
    (lambda c, r: c.plan("rerun", r, "one"), "rerun does not take step; it takes nothing more"),
    (lambda c, r: c.plan("fork", r, "one", result=1), "fork does not take result; it takes"),
    (lambda c, r: c.plan("skip", r, from_step="one"), "skip does not take from_step; it takes"),
    (lambda c, r: c.plan("fork", r, "one", from_step="two"), "fork takes one step; step and"),
    (lambda c, r: c.plan("skip", r, 5), "step: 5 is not text. Nothing was done."),
    (lambda c, r: c.skip(r, "one\0"), "step: 'one\\\\x00' holds NUL or half a surrogate"),
    (lambda c, r: c.retry(r, args=[1]), "args: \\[1\\] is not an object with named fields"),
    (lambda c, r: c.retry(r, args={1: 2}), "args: {1: 2} is not an object with named fields"),
    (lambda c, r: c.retry(r, args={"n": "x"}), "n): 'x' is not a whole number. Nothing was done"),
    (lambda c, r: c.retry(r, args={"m": 1}), "m): is not an argument.* Nothing was done"),
    (lambda c, r: c.retry(r, reason="\0"), "reason: .* holds NUL or half a surrogate pair"),
    (lambda c, r: c.retry(r, reason=5), "reason: 5 is not text"),
    (lambda c, r: c.mark(r, "one", "4"), "a step cannot be marked '4': the codes are 4"),
    (lambda c, r: c.mark(r, "one", [4]), r"a step cannot be marked \[4\]: the codes are 4"),
    (lambda c, r: c.rerun(r, reason="\ud800"), "reason: .* holds NUL or half a surrogate pair"),
    (lambda c, r: c.cancel(r, reason="\0"), "reason: .* holds NUL or half a surrogate pair"),
    (lambda c, r: c.acknowledge(r, reason="\0"), "reason: .* holds NUL or half a surrogate"),
    (lambda c, r: c.signal(r, 5, 1), "name: 5 is not text"),
    (lambda c, r: c.answer(r, 5, 1), "question: 5 is not text"),
    (lambda c, r: c.retry_where("job:flow", reason="\0"), "reason: .* holds NUL or half a"),
    (lambda c, r: c.retry_where("job:\0", reason="x"), "query: .* holds NUL or half a"),
    (lambda c, r: c.stop_bulk(1, reason="\0"), "reason: .* holds NUL or half a surrogate pair"),
    (lambda c, r: c.get(None), "run: None is no run: neither a snapshot, nor a number"),
    (lambda c, r: c.get(2.5), "run: 2.5 is no run: neither a snapshot, nor a number"),
    (lambda c, r: c.get("a\0"), "run: .* holds NUL or half a surrogate pair"),
    (lambda c, r: c.using(by="\0"), "by: .* holds NUL or half a surrogate pair"),
    (lambda c, r: c.using(by=5), "by: 5 is not text"),
    (lambda c, r: c.using(workspace="\0"), "workspace: .* holds NUL or half a surrogate pair"),
    (lambda c, r: TestClient(app, by="\ud800"), "by: .* holds NUL or half a surrogate pair"),
]


def test_a_wrong_value_is_refused_by_its_name(client: TestClient) -> None:
    run = client.run(flow)
    for call, message in WRONG:
        with pytest.raises(InvalidArguments, match=message.replace("): ", r"\): ")):
            call(client, run)
        assert client.get(run).state == "failed"


VERBS: list[tuple[str, Callable[[Any, Any], object]]] = [
    ("cancel", lambda c, r: c.cancel(r)),
    ("signal", lambda c, r: c.signal(r, "go")),
    ("answer", lambda c, r: c.answer(r, "", 1)),
    ("retry", lambda c, r: c.retry(r)),
    ("rerun", lambda c, r: c.rerun(r)),
    ("skip", lambda c, r: c.skip(r, "one")),
    ("resolve", lambda c, r: c.resolve(r, "one", result=1)),
    ("fork", lambda c, r: c.fork(r, "one")),
    ("mark", lambda c, r: c.mark(r, "one", 3)),
    ("acknowledge", lambda c, r: c.acknowledge(r)),
    ("retry_where", lambda c, r: c.retry_where("job:flow", reason="x")),
    ("pause_bulk", lambda c, r: c.pause_bulk(1)),
    ("resume_bulk", lambda c, r: c.resume_bulk(1)),
    ("stop_bulk", lambda c, r: c.stop_bulk(1)),
]


def test_only_start_and_move_go_inside_a_callers_transaction(client: TestClient) -> None:
    run = client.run(flow)
    with psycopg.connect(client.database_url) as connection:
        inside = client.using(connection)
        for verb, call in VERBS:
            with pytest.raises(TypeError, match=f"{verb} has a transaction of its own; use the cl"):
                call(inside, run)
        inside.start(plain)
    assert client.get(run).state == "failed"
    assert len(client.find("job:plain")) == 1


async def test_nor_do_they_for_one_that_awaits(database_url: str) -> None:
    async with (
        AsyncClient(database_url) as client,
        await psycopg.AsyncConnection.connect(database_url) as connection,
    ):
        inside = client.using(connection)
        for verb, call in VERBS:
            with pytest.raises(TypeError, match=f"{verb} has a transaction of its own"):
                await cast(Any, call(inside, 1))


def test_what_runs_of_the_past_have_as_arguments_is_kept_whole(client: TestClient) -> None:
    run = client.run(plain)
    with pytest.raises(InvalidArguments, match="holds a NUL character"):
        client.retry(run, args={"n": "\0"})
