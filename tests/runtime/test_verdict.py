"""What follows an answer, with literal expectations."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import koken
from koken.define.job import Job
from koken.engine.claim import Claimed
from koken.executors.base import Absent, Answer, Broken, Raised, Returned, Stopped, raised
from koken.model.runparts import Failure
from koken.runtime import verdict

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
RUN = Claimed(
    id=7,
    lease=3,
    attempt=1,
    max_attempts=3,
    infra_attempt=0,
    max_infra_attempts=3,
    job_id=1,
    workspace_id=1,
    queue_id=1,
    root_id=None,
    rank=NOON,
    priority=0,
    subject=None,
    trigger_kind="user",
    trigger_by=None,
    schedule_id=None,
    since_at=None,
    logical_at=NOON,
    overlap=None,
    overlap_key=None,
    seconds_left=None,
    args="{}",
    version_id=1,
)


class Gone(OSError):
    """An error that a job never retries."""


def job(**options: Any) -> Job[..., Any]:
    """A job with these options."""
    options.setdefault("backoff", koken.Backoff("fixed", base="5m", jitter=0))
    return koken.App().job(lambda: None, name="report", **options)


def what(answer: Answer, run: Claimed = RUN, **options: Any) -> tuple[Any, ...] | None:
    """State, outcome, what was spent, delay."""
    found = verdict.ending(run, job(**options), answer, 0.0)
    return found and (found.state.value, found.outcome, found.spent, found.delay)


LAST = replace(RUN, attempt=3)
OLD = replace(RUN, infra_attempt=3)
TABLE = [
    (Returned("7"), RUN, ("succeeded", "succeeded", "attempt", 0.0)),
    (koken.Retry("later"), RUN, ("waiting", "retry", "attempt", 300.0)),
    (koken.Retry("later", after="10s"), RUN, ("waiting", "retry", "attempt", 10.0)),
    (koken.Retry("later", after="10s"), LAST, ("failed", "failed", "attempt", 0.0)),
    (koken.Snooze("15m", "not there"), RUN, ("waiting", "snooze", "nothing", 900.0)),
    (koken.Snooze("15m"), LAST, ("waiting", "snooze", "nothing", 900.0)),
    (koken.Snooze(), RUN, ("waiting", "snooze", "nothing", 60.0)),
    (koken.Skip("nothing new"), RUN, ("skipped", "skipped", "attempt", 0.0)),
    (koken.Fail("bad"), RUN, ("failed", "failed", "attempt", 0.0)),
    (koken.Cancel("no"), RUN, ("cancelled", "cancelled", "attempt", 0.0)),
    (raised(ValueError("x")), RUN, ("waiting", "retry", "attempt", 300.0)),
    (raised(ValueError("x")), LAST, ("failed", "failed", "attempt", 0.0)),
    (Stopped("timeout"), RUN, ("waiting", "retry", "attempt", 300.0)),
    (Stopped("timeout"), LAST, ("failed", "failed", "attempt", 0.0)),
    (Stopped("cancel"), RUN, ("cancelled", "cancelled", "attempt", 0.0)),
    (Stopped("shutdown"), RUN, ("ready", "returned", "nothing", 0.0)),
    (Stopped("silence"), RUN, ("waiting", "broken", "infra", 5.0)),
    (Stopped("silence"), OLD, ("failed", "failed", "infra", 0.0)),
    (Stopped("lost"), RUN, None),
    (raised(koken.errors.LeaseLost("gone")), RUN, None),
    (Broken(Failure(type="E", message="")), RUN, ("waiting", "broken", "infra", 5.0)),
    (Broken(Failure(type="E", message="")), OLD, ("failed", "failed", "infra", 0.0)),
    (Absent(), RUN, ("ready", "returned", "nothing", 0.0)),
    (raised(koken.errors.DeclarationError("odd")), RUN, ("failed", "failed", "attempt", 0.0)),
]


@pytest.mark.parametrize(("answer", "run", "expected"), TABLE)
def test_what_follows(answer: Answer, run: Claimed, expected: tuple[Any, ...] | None) -> None:
    assert what(answer, run, timeout=60) == expected


def test_errors_that_are_never_retried_fail_at_once_and_so_do_their_kinds() -> None:
    """X-05."""
    assert what(raised(Gone("x")), never_retry=(OSError,)) == ("failed", "failed", "attempt", 0.0)
    assert what(raised(ValueError("x")), never_retry=(OSError,)) == (
        "waiting",
        "retry",
        "attempt",
        300.0,
    )


def test_a_body_that_may_not_run_twice_is_not_handed_back_once_it_has_begun() -> None:
    assert what(Stopped("shutdown"), effect="unsafe") == ("failed", "failed", "attempt", 0.0)


def test_arguments_that_do_not_fit_are_not_tried_again() -> None:
    error = koken.errors.InvalidArguments("report(n): 'x' is not a whole number")
    assert what(raised(error)) == ("failed", "failed", "attempt", 0.0)


def test_a_job_may_compute_its_waits_or_give_up() -> None:
    def rule(attempt: int, error: Exception) -> str | None:
        return None if "fatal" in str(error) else f"{attempt * 7}s"

    assert what(raised(ValueError("x")), backoff=rule) == ("waiting", "retry", "attempt", 7.0)
    assert what(raised(ValueError("fatal")), backoff=rule) == ("failed", "failed", "attempt", 0.0)


def test_a_broken_backoff_fails_the_run_and_says_so() -> None:
    def rule(attempt: int, error: Exception) -> str:
        raise KeyError("oops")

    found = verdict.ending(RUN, job(backoff=rule), raised(ValueError("x")), 0.0)
    assert found is not None
    assert found.state == "failed"
    assert "its backoff raised KeyError('oops')" in str(found.error)


def test_the_whole_runs_time_ends_it_whatever_attempts_are_left() -> None:
    run = replace(RUN, seconds_left=30.0)
    found = verdict.ending(run, job(timeout=60), Stopped("timeout"), 0.0)
    assert found is not None
    assert found.state == "failed"
    assert found.error == (
        '{"type": "Timeout", "message": "it took longer than 30 s (run_timeout)"}'
    )


def test_a_run_of_an_unknown_job_is_offered_again_and_costs_nothing() -> None:
    found = verdict.unknown(RUN, "gone")
    assert (found.state, found.spent, found.outcome) == ("ready", "nothing", "returned")
    assert "no job 'gone'" in str(found.error)


def test_an_error_from_another_process_is_judged_by_its_names() -> None:
    answer = Raised(Failure(type="Gone", message="x"), kinds=("builtins.OSError",))
    assert what(answer, never_retry=(OSError,)) == ("failed", "failed", "attempt", 0.0)
