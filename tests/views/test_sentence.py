"""A run in one sentence, in each way in which it may stand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from koken.model.plan import Again, Plan
from koken.model.policy import Effect
from koken.model.run import UNDO, Run
from koken.model.runparts import Children, Trigger, TriggerKind, Wait
from koken.model.states import State, WaitCause
from koken.views.runwords import started_by, took
from koken.views.sentence import sentence, text
from koken.views.steprows import StepRow

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
BEGUN = NOW - timedelta(minutes=12)
RUN: Run[Any] = Run(
    id=412, job="nightly", version=1, workspace="default", state=State.RUNNING, queue="default",
    priority=0, attempt=1, max_attempts=3, infra_attempt=0, max_infra_attempts=3,
    trigger=Trigger(kind=TriggerKind.USER, by="mira"), logical_time=BEGUN, root_id=412,
    created_at=BEGUN, started_at=BEGUN, claimed_at=BEGUN, worker="w-7",
)  # fmt: skip
UNTIL = NOW + timedelta(minutes=30)


def row(name: str, state: State | None, attempt: int = 1) -> StepRow:
    return StepRow(name=name, no=1, run_id=1, state=state, attempt=attempt)


def test_a_due_time_is_told_in_the_readers_zone() -> None:
    due = datetime(2026, 12, 1, 0, 45, tzinfo=UTC)
    trigger = Trigger(kind=TriggerKind.SCHEDULE, by="", schedule="*/15 * * * *", due_at=due)
    run = replace(RUN, trigger=trigger)
    assert started_by(run, ZoneInfo("Europe/Berlin")) == "tick 2026-12-01 01:45 CET (*/15 * * * *)"
    assert started_by(run, UTC) == "tick 2026-12-01 00:45 UTC (*/15 * * * *)"


def test_time_that_nobody_worked_is_left_out() -> None:
    whole = replace(RUN, children=Children(made=3, going=1), idle=600.0)
    assert text(sentence(whole, [], NOW)).startswith("nightly 412 is running for 2 min")
    over = replace(whole, state=State.SUCCEEDED, ended_at=NOW)
    assert took(over, NOW) == "2 min"
    assert text(sentence(over, [], NOW)) == "nightly 412 succeeded just now, in 2 min."


def waits(cause: WaitCause, wait_for: str | None = None) -> Run[Any]:
    return replace(RUN, state=State.WAITING, wait=Wait(cause=cause, until=UNTIL, wait_for=wait_for))


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (RUN, "is running for 12 min on w-7."),
        (replace(RUN, attempt=2), "is running for 12 min on w-7, attempt 2 of 3."),
        (replace(RUN, cancelling=True), "is being cancelled on w-7."),
        (replace(RUN, state=State.READY), "is ready."),
        (
            waits(WaitCause.RETRY),
            "waits for its next attempt, after attempt 1 of 3 failed, due in 30 min.",
        ),
        (
            waits(WaitCause.SIGNAL, "go\nstop"),
            "waits for the signal go or stop, gives up in 30 min.",
        ),
        (waits(WaitCause.OPERATION), "waits for work elsewhere, due in 30 min."),
        (
            replace(waits(WaitCause.CHILDREN, UNDO), settle=State.FAILED),
            "is being undone, then it ends as failed.",
        ),
        (replace(RUN, state=State.CANCELLED, ended_at=NOW), "was cancelled just now."),
        (
            replace(
                RUN,
                state=State.CANCELLED,
                ended_at=NOW,
                cancelled_by="root",
            ),
            "was cancelled by root just now.",
        ),
        (
            replace(RUN, state=State.FAILED, ended_at=NOW, acknowledged_by="lea"),
            "failed just now, after 1 try; acknowledged by lea.",
        ),
    ],
)
def test_how_a_run_stands(run: Run[Any], told: str) -> None:
    assert text(sentence(run, (), NOW)) == f"nightly 412 {told}"


def test_a_workflow_says_how_far_it_is_and_where() -> None:
    run = replace(waits(WaitCause.CHILDREN), is_workflow=True, children=Children(made=3, going=1))
    rows = [row("a", State.SUCCEEDED), row("b", State.RUNNING), row("c", State.BLOCKED)]
    assert text(sentence(run, rows, NOW)) == (
        "nightly 412 is running for 12 min, now at b; 1 of 3 steps is done."
    )


def test_steps_that_failed_are_named_and_what_they_may_repeat() -> None:
    run = replace(RUN, state=State.FAILED, ended_at=BEGUN, is_workflow=True)
    rows = [row(name, State.FAILED) for name in "abcde"]
    effects = (Effect.PURE, Effect.ONCE, None)
    again = tuple(Again(step=name, effect=it) for name, it in zip("abc", effects, strict=True))
    plan = Plan(verb="retry", run=412, job="nightly", again=again, keeps=("x",), stays={})
    assert text(sentence(run, rows, NOW, plan=plan)) == (
        "nightly 412 failed 12 min ago in 5 steps: a, b, c and 2 more; 0 of 5 steps are done; "
        "running again a, b and c may repeat what b and c do outside."
    )
    assert text(sentence(run, rows, NOW, refusal="it needs x")).endswith(
        "; it cannot run again now: it needs x."
    )
