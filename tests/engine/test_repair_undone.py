"""Repair after compensation, and of durable functions: what is no more goes again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import koken
from koken import Context
from koken.errors import NotFound, Refused
from koken.model.run import Run
from koken.testing import TestClient

app = koken.App("undone")
DONE: list[str] = []
BROKEN: set[str] = set()


def does(name: str) -> str:
    if name in BROKEN:
        raise OSError(name)
    DONE.append(name)
    return name


@app.workflow
def trip() -> None:
    """Booked in steps."""


@trip.step
def look() -> str:
    return does("look")


@trip.step
def flight(look: str) -> str:
    return does("flight")


@flight.compensate
def cancel_flight(flight: str) -> None:
    does(f"cancel {flight}")


@trip.step(after=["flight"])
def pack() -> str:
    return does("pack")


@trip.step(after=["pack"])
def hotel() -> str:
    return does("hotel")


@app.workflow
def seats() -> None:
    """One for each."""


@seats.step
def rows() -> list[str]:
    return ["a", "b"]


@seats.step(each={"row": rows})
def seat(row: str) -> str:
    return does(f"seat {row}")


@seat.compensate
def free(row: str) -> None:
    does(f"free {row}")


@seats.step
def pay(seat: list[str]) -> str:
    return does("pay")


@app.job
def durable(ctx: Context) -> str:
    first = ctx.step("first", does, "first")
    second = ctx.step("second", does, "second")
    third = ctx.step("third", does, "third")
    return does(f"{first} {second} {third}")


@app.job
def booking(ctx: Context) -> str:
    ctx.step("look", does, "look")
    undo = ctx.using(compensate=undone)
    undo.step("seat", does, "seat")
    ctx.step("pay", does, "pay")
    return does("end")


def undone(seat: str) -> None:
    does(f"free {seat}")


@pytest.fixture
def client() -> Iterator[TestClient]:
    DONE.clear()
    BROKEN.clear()
    with TestClient(app, by="anna") as made:
        yield made


def states(client: TestClient, run: Run[Any]) -> dict[str, str]:
    return {row.name: row.state.value if row.state else "none" for row in client.steps(run)}


def undo_run(client: TestClient, run: Run[Any]) -> int:
    (row,) = client.portal.call(
        "test",
        client.stage.clock.ask(
            f"select id from koken.run where parent_id = {run.id} and undoes_id is not null"
        ),
    )
    return int(row["id"])


def failed_trip(client: TestClient) -> Run[Any]:
    BROKEN.add("hotel")
    run = client.fast_forward(client.start(trip))
    assert run.state == "failed"
    return run


def test_what_was_undone_goes_again_and_what_comes_after_it(client: TestClient) -> None:
    run = failed_trip(client)
    assert DONE == ["look", "flight", "pack", "cancel flight"]
    plan = client.plan("retry", run)
    assert plan.undone == ("flight",)
    assert [each.step for each in plan.again] == ["flight", "pack", "hotel"]
    assert plan.keeps == ("look",)
    BROKEN.clear()
    DONE.clear()
    client.retry(run)
    run = client.fast_forward(run)
    assert (run.state, DONE) == ("succeeded", ["flight", "pack", "hotel"])


def test_a_second_failure_undoes_again(client: TestClient) -> None:
    run = failed_trip(client)
    DONE.clear()
    client.retry(run)
    run = client.fast_forward(run)
    assert (run.state, DONE) == ("failed", ["flight", "pack", "cancel flight"])


def test_skip_after_an_undo_does_it_again_too(client: TestClient) -> None:
    run = failed_trip(client)
    DONE.clear()
    client.skip(run, "hotel")
    run = client.fast_forward(run)
    assert (run.state, DONE) == ("succeeded", ["flight", "pack"])


def test_fork_does_not_take_over_what_was_undone(client: TestClient) -> None:
    run = failed_trip(client)
    BROKEN.clear()
    DONE.clear()
    fork = client.fast_forward(client.fork(run, "hotel"))
    assert (fork.state, DONE) == ("succeeded", ["flight", "pack", "hotel"])


def test_a_fork_that_fails_leaves_the_work_of_the_first(client: TestClient) -> None:
    run = client.fast_forward(client.start(trip))
    BROKEN.add("hotel")
    DONE.clear()
    fork = client.fast_forward(client.fork(run, "hotel"))
    assert (fork.state, DONE) == ("failed", [])


def test_an_undo_that_failed_gets_another_chance(client: TestClient) -> None:
    BROKEN.add("cancel flight")
    run = failed_trip(client)
    assert run.reason == "StepFailed: step hotel: OSError: hotel; failed: undo flight"
    undo = undo_run(client, run)
    assert client.get(undo).actions == ("retry", "skip", "resolve")
    BROKEN.discard("cancel flight")
    DONE.clear()
    client.retry(undo, reason="they are open again")
    run = client.fast_forward(run)
    assert (run.state, DONE) == ("failed", ["cancel flight"])
    assert client.get(undo).state == "succeeded"
    assert run.reason == "StepFailed: step hotel: OSError: hotel"
    assert client.plan("retry", run).undone == ("flight",)


def test_an_undo_that_failed_is_skipped(client: TestClient) -> None:
    BROKEN.add("cancel flight")
    run = failed_trip(client)
    undo = undo_run(client, run)
    client.skip(undo, reason="called them")
    assert (client.get(undo).state, client.get(run).state) == ("skipped", "failed")
    assert client.get(run).reason == "StepFailed: step hotel: OSError: hotel"
    with pytest.raises(Refused, match="only an undo that failed can be retried"):
        client.retry(undo)


def test_recorded_steps_stay(client: TestClient) -> None:
    BROKEN.add("third")
    run = client.fast_forward(client.start(durable))
    plan = client.plan("retry", run)
    assert (plan.keeps, [each.step for each in plan.again]) == (("first", "second"), ["durable"])
    BROKEN.clear()
    DONE.clear()
    client.retry(run)
    assert client.fast_forward(run).state == "succeeded"
    assert DONE == ["third", "first second third"]


def test_from_a_recorded_step_on_all_is_forgotten(client: TestClient) -> None:
    run = client.fast_forward(client.start(durable))
    plan = client.plan("retry", run, from_step="second")
    assert (plan.keeps, [each.step for each in plan.again]) == (("first",), ["second", "third"])
    DONE.clear()
    client.retry(run, from_step="second")
    assert client.fast_forward(run).state == "succeeded"
    assert DONE == ["second", "third", "first second third"]
    with pytest.raises(
        NotFound, match="has not recorded step 'fourth'; it has recorded first, sec"
    ):
        client.retry(run, from_step="fourth")


def test_what_a_body_has_undone_it_does_again(client: TestClient) -> None:
    BROKEN.add("end")
    run = client.fast_forward(client.start(booking))
    assert (run.state, DONE) == ("failed", ["look", "seat", "pay", "free seat"])
    plan = client.plan("retry", run)
    assert (plan.keeps, plan.undone) == (("look",), ("seat",))
    assert [each.step for each in plan.again] == ["seat", "pay", "booking"]
    assert client.plan("retry", run, from_step="pay").keeps == ("look",)
    BROKEN.clear()
    DONE.clear()
    client.retry(run)
    assert client.fast_forward(run).state == "succeeded"
    assert DONE == ["seat", "pay", "end"]


def test_an_undo_that_fails_again_is_told_once(client: TestClient) -> None:
    BROKEN.add("cancel flight")
    run = failed_trip(client)
    client.retry(undo_run(client, run))
    run = client.fast_forward(run)
    assert run.reason == "StepFailed: step hotel: OSError: hotel; failed: undo flight"


def test_an_undo_that_was_cancelled_is_open_too(client: TestClient) -> None:
    client.replacing(flight.undo, called_off)
    run = failed_trip(client)
    undo = undo_run(client, run)
    assert client.get(undo).state == "cancelled"
    assert run.reason == "StepFailed: step hotel: OSError: hotel; failed: undo flight"
    client.resolve(undo, reason="by telephone")
    assert client.get(run).reason == "StepFailed: step hotel: OSError: hotel"


def called_off() -> None:
    raise koken.Cancel("not today")


def test_what_a_fork_did_again_is_undone_with_it(client: TestClient) -> None:
    run = client.fast_forward(client.start(trip))
    BROKEN.add("hotel")
    fork = client.fast_forward(client.fork(run, "hotel"))
    DONE.clear()
    client.retry(fork, from_step="flight")
    fork = client.fast_forward(fork)
    assert (fork.state, DONE) == ("failed", ["flight", "pack", "cancel flight"])


def test_items_that_a_fork_took_over_are_left_alone_when_it_undoes(client: TestClient) -> None:
    run = client.fast_forward(client.start(seats))
    BROKEN.add("pay")
    fork = client.fast_forward(client.fork(run, "pay"))
    assert (fork.state, DONE) == ("failed", ["seat a", "seat b", "pay"])
    DONE.clear()
    client.retry(fork, from_step="seat[1]")
    fork = client.fast_forward(fork)
    assert (fork.state, DONE) == ("failed", ["seat b", "free b"])
