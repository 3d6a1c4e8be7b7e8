"""Two of cancel, timeout, undo, wait, repair and end at once, in any pair that there may be."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import koken
from koken.engine import parts
from koken.errors import Refused
from koken.testing import TestClient
from tests.support.invariants import check
from tests.workflows.acts import act, never, rows
from tests.workflows.conftest import Hire

seen: list[str] = []
LONG = "Timeout: the run took longer than it may (run_timeout)"
STOPPED = "another step failed, and the workflow stops at the first failure (fail_fast)"
CAUSES = ("delay", "retry", "sleep", "signal", "question", "operation", "children", "gate")


class Elsewhere(koken.Operation[int, str, int]):
    """A system that is never through."""

    every = "1h"

    def submit(self, item: int, key: str) -> str:
        return f"h{item}"

    def poll(self, item: int, handle: str) -> int | koken.Snooze:
        return koken.Snooze()

    def cancel(self, item: int, handle: str) -> None:
        seen.append(f"cancel {handle}")


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


def waits(ctx: koken.Context, cause: str, kid: koken.Job[..., Any]) -> None:
    """Leave a body so that its run waits for this."""
    match cause:
        case "delay":
            raise koken.Snooze("1h")
        case "retry":
            raise OSError("once")
        case "sleep":
            ctx.sleep("1d")
        case "signal":
            ctx.wait_signal("go", str)
        case "question":
            ctx.ask("Fine?", bool)
        case "operation":
            ctx.step("elsewhere", Elsewhere(), 1)
        case "children":
            ctx.step("kid", kid)


def program(cause: str, child: bool) -> tuple[koken.App, koken.Job[..., Any], koken.Job[..., Any]]:
    """A job that has done what is to be undone and waits, perhaps with a child of its own."""
    app = koken.App("pairs")

    @app.job
    def kid(ctx: koken.Context) -> None:
        ctx.sleep("30d")

    if cause != "gate":

        @app.job(max_attempts=2, backoff="1h")
        def job(ctx: koken.Context) -> None:
            ctx.using(compensate=lambda _: seen.append("undo first")).step("first", int, 1)
            if child:
                ctx.start(kid)
            waits(ctx, cause, kid)

        return app, job, kid

    flow = app.workflow("flow")

    @flow.step
    def first(ctx: koken.Context) -> None:
        if child:
            ctx.start(kid)

    before = flow.step(act("S", "before"), name="before")
    before.compensate(act("S", "undo first", seen))
    flow.step(never, name="held", after=["before"], gate="0 15 * * *")
    return app, flow, kid


def reaped(client: TestClient, run: koken.Run[Any]) -> tuple[str, str]:
    """How a run ends after all that is left to do, and that nothing comes after it."""
    check(client)
    client.drain()
    check(client)
    found = client.get(run)
    assert client.advance("40d") == []
    check(client)
    return found.state, found.reason


@pytest.mark.parametrize("child", [False, True], ids=["alone", "child"])
@pytest.mark.parametrize("cause", CAUSES)
def test_a_cancel_of_what_waits(client_of: Hire, cause: str, child: bool) -> None:
    app, job, kid = program(cause, child)
    client = client_of(app)
    client.now = client.now.replace(hour=12)
    run = client.run(job)
    check(client)
    causes = {cause for (cause,) in rows(client, "select wait_cause from koken.run")}
    assert cause in causes
    kids = client.started(kid)
    assert len(kids) == child + (cause == "children")
    client.cancel(run, reason="wrong market")
    assert reaped(client, run) == ("cancelled", "wrong market")
    assert [client.get(each).state for each in kids] == ["cancelled"] * len(kids)
    assert seen == ["cancel h1", "undo first"] if cause == "operation" else ["undo first"]


def test_a_cancel_of_what_has_not_begun(client_of: Hire) -> None:
    app = koken.App("delayed")
    job = app.job(never)
    client = client_of(app)
    run = client.start(job.using(delay="1h"))
    assert rows(client, "select wait_cause from koken.run") == [("delay",)]
    client.cancel(run, reason="wrong market")
    assert reaped(client, run) == ("cancelled", "wrong market")


def overlong(kind: str) -> tuple[koken.App, koken.Job[..., Any]]:
    """A job of one and a half hours that fails after one, and whose undoing takes another."""
    app = koken.App("overlong")

    def undo() -> None:
        seen.append("undo")
        if len(seen) == 1:
            raise OSError("busy")

    def last(ctx: koken.Context) -> None:
        if ctx.attempt == 1:
            raise OSError("busy")
        raise koken.Fail("broken")

    if kind == "body":

        @app.job(run_timeout="90m", max_attempts=2, backoff="1h")
        def job(ctx: koken.Context) -> None:
            ctx.using(compensate=lambda _: undo()).step("first", int, 1)
            last(ctx)

        return app, job
    flow = app.workflow("flow", run_timeout="90m", max_attempts=2, backoff="1h")
    flow.step(act("S", "first"), name="first").compensate(undo)
    flow.step(last, after=["first"])
    return app, flow


@pytest.mark.parametrize("kind", ["flow", "body"])
def test_a_timeout_while_it_is_undone(client_of: Hire, kind: str) -> None:
    """The time is up in the middle of the undo, which goes on; the reason stays."""
    app, job = overlong(kind)
    client = client_of(app)
    began = client.now
    run = client.start(job)
    client.advance("1h")
    assert client.get(run).phase == "compensating"
    client.advance("45m")
    check(client)
    assert (client.get(run).state, seen) == ("waiting", ["undo"])
    run = client.fast_forward(run)
    assert client.now - began == timedelta(hours=2)
    why = "StepFailed: step last: broken" if kind == "flow" else "broken"
    assert reaped(client, run) == ("failed", why)
    assert seen == ["undo", "undo"]


@pytest.mark.parametrize("broken_off", [False, True], ids=["asked", "broken off"])
def test_a_timeout_while_it_is_cancelled(
    client_of: Hire, broken_off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The undo of a cancel goes on when the time is up, and the reason is the cancel's."""
    app, flow = overlong("flow")
    client = client_of(app)
    run = client.run(flow)
    client.advance("45m")
    deaths = not_once(monkeypatch, "control") if broken_off else []
    client.cancel(run, reason="wrong market")
    check(client)
    assert len(deaths) == broken_off
    client.advance("50m")
    check(client)
    assert (client.get(run).state, seen) == ("waiting", ["undo"])
    run = client.fast_forward(run)
    assert reaped(client, run) == ("cancelled", "wrong market")
    assert client.states(run) == {
        "first": "succeeded",
        "last": "cancelled",
        "undo first": "succeeded",
    }
    assert seen == ["undo", "undo"]


def not_once(monkeypatch: pytest.MonkeyPatch, module: str) -> list[str]:
    """Whoever is to stop what is below a run dies before that; gives a list of the deaths."""
    deaths: list[str] = []

    async def died(*args: Any, **kwargs: Any) -> None:
        monkeypatch.setattr(place, parts.stop_children)
        deaths.append(place)

    place = f"koken.engine.{module}.stop_children"
    monkeypatch.setattr(place, died)
    return deaths


def test_a_timeout_that_was_not_carried_to_the_end(
    client_of: Hire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who found the run overlong died before the steps knew; the sweep tells them."""
    app = koken.App("broken off")
    flow = app.workflow("flow", run_timeout="2h")
    flow.step(act("S", "first"), name="first").compensate(act("S", "undo first", seen))
    flow.step(never, name="last", after=["first"])
    client = client_of(app)
    client.failing("last", koken.Snooze("1d"))
    run = client.run(flow)
    deaths = not_once(monkeypatch, "wake")
    client.advance("2h")
    check(client)
    assert len(deaths) == 1
    assert reaped(client, run) == ("failed", LONG)
    assert client.states(run) == {
        "first": "succeeded",
        "last": "cancelled",
        "undo first": "succeeded",
    }
    assert seen == ["undo first"]


def ended_with_steps_left(client_of: Hire) -> tuple[TestClient, koken.Run[Any], dict[str, str]]:
    """A workflow that has failed before two steps began, of which one waits for the other's end."""
    app = koken.App("left")
    flow = app.workflow("flow")
    flow.step(act("F", "first"), name="first")
    flow.step(never, name="held", after=["first"], window="22:00-06:00", window_missed="fail")
    flow.step(never, name="late", after=["held"], join="any_failed")
    flow.step(never, name="any", after=["held"], join="all_done")
    client = client_of(app)
    run = client.run(flow)
    states = {"first": "failed", "held": "blocked", "late": "blocked", "any": "blocked"}
    assert (run.state, client.states(run)) == ("failed", states)
    check(client)
    return client, run, states


def test_a_window_that_closes_after_the_end(client_of: Hire) -> None:
    client, run, states = ended_with_steps_left(client_of)
    assert client.advance("3d") == []
    check(client)
    assert (client.get(run).state, client.states(run)) == ("failed", states)


def test_a_step_that_is_cancelled_after_the_end(client_of: Hire) -> None:
    client, run, states = ended_with_steps_left(client_of)
    (held,) = (step.run_id for step in client.steps(run) if step.name == "held")
    assert held is not None
    with pytest.raises(Refused, match="flow 3 does not begin any more"):
        client.cancel(held, reason="never mind")
    check(client)
    assert client.advance("3d") == []
    check(client)
    assert (client.get(run).state, client.states(run)) == ("failed", states)


def failed_fast(
    client_of: Hire, *, waits: bool = True
) -> tuple[TestClient, koken.Run[Any], dict[str, str]]:
    """A workflow that stopped at its first failure, while another step waited or was through."""
    app = koken.App("fast")
    flow = app.workflow("flow", fail_fast=True)
    flow.step(act("S", "waits", seen), name="waits")
    flow.step(act("S", "held", seen), name="held", after=["waits"])
    flow.step(act("S", "fails", seen), name="fails", after=[] if waits else ["held"])
    flow.step(act("S", "after", seen), name="after", after=["fails", "held"])
    client = client_of(app)
    if waits:
        client.failing("waits", koken.Snooze("3h"))
    client.failing("fails", koken.Fail("broken"))
    run = client.run(flow)
    check(client)
    assert run.state == "failed"
    return client, run, client.states(run)


def test_a_retry_of_what_failed_fast(client_of: Hire) -> None:
    """What the failure stopped goes again too, and is not stopped once more."""
    client, run, states = failed_fast(client_of)
    assert states == {
        "waits": "cancelled",
        "held": "cancelled",
        "fails": "failed",
        "after": "cancelled",
    }
    client.retry(run)
    assert reaped(client, run) == ("succeeded", "")
    assert sorted(seen) == ["after", "fails", "held", "waits"]


@pytest.mark.parametrize("by_run", [False, True], ids=["from step", "the step"])
def test_a_retry_of_the_step_that_failed_fast(client_of: Hire, by_run: bool) -> None:
    """It goes through, and what had not begun since it failed."""
    client, run, states = failed_fast(client_of, waits=False)
    assert states == {
        "waits": "succeeded",
        "held": "succeeded",
        "fails": "failed",
        "after": "blocked",
    }
    retry_step(client, run, by_run)
    assert reaped(client, run) == ("succeeded", "")
    assert client.states(run) == states | {"fails": "succeeded", "after": "succeeded"}


@pytest.mark.parametrize("by_run", [False, True], ids=["from step", "the step"])
def test_a_retry_beside_what_was_stopped(client_of: Hire, by_run: bool) -> None:
    """What stays cancelled is no new failure that would stop the step that goes again."""
    client, run, states = failed_fast(client_of)
    retry_step(client, run, by_run)
    assert reaped(client, run) == ("failed", "StepFailed: step waits: " + STOPPED)
    assert client.states(run) == states | {
        "fails": "succeeded",
        "after": "cancelled" if by_run else "blocked",
    }
    assert seen == ["fails"]


def retry_step(client: TestClient, run: koken.Run[Any], by_run: bool) -> None:
    """Have the step go again that failed: from it on, or it alone."""
    if not by_run:
        client.retry(run, from_step="fails")
        return
    (fails,) = (step.run_id for step in client.steps(run) if step.name == "fails")
    assert fails is not None
    client.retry(fails)


def retried(client_of: Hire, **options: Any) -> tuple[TestClient, koken.Run[Any]]:
    """A workflow that has failed, whose undo failed as well, and that was retried just now."""
    app = koken.App("retried")
    flow = app.workflow("flow", **options)
    flow.step(act("S", "first", seen), name="first").compensate(act("S", "undo first", seen))
    flow.step(act("F", "last"), name="last", after=["first"])
    other = app.job(never, name="other", **options)
    client = client_of(app)
    client.failing("flow.first.undo", OSError("gone"))
    run = client.run(flow)
    assert (run.state, seen) == ("failed", ["first"])
    if options:
        client.failing("other", koken.Snooze("1h"))
        client.run(other)
    client.retry(run)
    check(client)
    return client, run


@pytest.mark.parametrize("lock", [None, "market"], ids=["ready", "blocked"])
def test_a_cancel_right_after_a_retry(client_of: Hire, lock: str | None) -> None:
    """What has been done before the retry is undone, also by a run in line for a lock."""
    client, run = retried(client_of, **({"lock": lock} if lock else {}))
    assert client.get(run).state == ("blocked" if lock else "ready")
    client.cancel(run, reason="wrong market")
    check(client)
    client.drain()
    check(client)
    found = client.get(run)
    assert (found.state, found.reason) == ("cancelled", "wrong market")
    states = client.states(run)
    assert (states["first"], states["last"]) == ("succeeded", "cancelled")
    assert seen == ["first", "undo first"]
