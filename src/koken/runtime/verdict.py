"""What follows an answer: pure; the finisher carries it out."""

from __future__ import annotations

import json
from typing import Any, assert_never

from koken.define.job import Job
from koken.engine.claim import Claimed
from koken.engine.finish import SPENDS_ATTEMPT, SPENDS_INFRA, SPENDS_NOTHING, Ending
from koken.executors.base import Absent, Answer, Broken, Parked, Raised, Returned, Stopped, Undoing
from koken.executors.failures import NEVER_AGAIN
from koken.model.duration import in_words, seconds
from koken.model.outcome import Cancel, Fail, Outcome, Retry, Skip, Snooze
from koken.model.policy import INFRA_BACKOFF, LONGEST_DELAY, Backoff, Effect
from koken.model.runparts import Failure
from koken.model.states import State, WaitCause

SNOOZE = 60.0
"""Seconds of a ``Snooze`` that does not say how long."""
ABSENT = 10.0
"""Seconds until a step that a program does not have is looked at again."""
SURE = {
    "koken.errors.InvalidArguments",
    "koken.errors.DeclarationError",
    "koken.errors.WorkflowChanged",
    NEVER_AGAIN,
}
"""Errors that another attempt would meet again: of arguments, of how a job is declared or was
changed under a run; and those that a step names."""


def ending(run: Claimed, job: Job[..., Any], answer: Answer, chance: float) -> Ending | None:
    """What becomes of ``run`` after ``answer``; None when it is not ours to say any more.

    ``chance`` in 0..1 spreads the retries.
    """
    match answer:
        case Returned(result):
            return Ending.of(run, State.SUCCEEDED, result=result)
        case Stopped(why, detail):
            return stopped(run, job, why, detail, chance)
        case Raised():
            return raised(run, job, answer, chance)
        case Broken(failure):
            return broken(run, failure, chance)
        case Absent():
            return unknown(run, job.name)
        case Parked():
            return left(run, answer)
        case Undoing():
            raise AssertionError("only asked for by the runner, which takes it")
        case Outcome():
            return answered(run, job, answer, chance)
        case _:
            assert_never(answer)


def answered(run: Claimed, job: Job[..., Any], outcome: Outcome, chance: float) -> Ending:
    """After an outcome that the body chose."""
    failure = Failure(type=type(outcome).__name__, message=outcome.reason)
    match outcome:
        case Snooze(after=after):
            delay = SNOOZE if after is None else after
            return parked(run, failure, delay, "snooze", WaitCause.DELAY, SPENDS_NOTHING)
        case Skip():
            return ended(run, State.SKIPPED, failure)
        case Cancel():
            return ended(run, State.CANCELLED, failure)
        case Fail():
            return ended(run, State.FAILED, failure)
        case Retry(after=after):
            return again_or_failed(run, job, failure, None, after, chance)
        case _:
            return ended(run, State.FAILED, failure)


def raised(run: Claimed, job: Job[..., Any], answer: Raised, chance: float) -> Ending | None:
    """After an exception."""
    if "koken.errors.LeaseLost" in answer.kinds:
        return None
    never = {f"{kind.__module__}.{kind.__qualname__}" for kind in job.never_retry}
    never |= SURE
    if never.intersection(answer.kinds):
        return ended(run, State.FAILED, answer.failure)
    return again_or_failed(run, job, answer.failure, answer.error, None, chance)


def again_or_failed(
    run: Claimed,
    job: Job[..., Any],
    failure: Failure,
    error: Exception | None,
    after: float | None,
    chance: float,
) -> Ending:
    """Another attempt after a wait, or the end when none is left or the job gives up."""
    if run.attempt >= run.max_attempts:
        return ended(run, State.FAILED, failure)
    if after is None:
        try:
            after = wait(job, run.attempt, error, chance)
        except Exception as broken_rule:
            text = f"{failure.message} (and its backoff raised {broken_rule!r})"
            return ended(run, State.FAILED, Failure(type=failure.type, message=text))
    if after is None:
        return ended(run, State.FAILED, failure)
    return parked(run, failure, after, "retry", WaitCause.RETRY, SPENDS_ATTEMPT)


def wait(job: Job[..., Any], attempt: int, error: Exception | None, chance: float) -> float | None:
    """Seconds until the next attempt by the job's rule; None: give up."""
    rule = job.backoff
    if isinstance(rule, Backoff):
        return rule.delay(attempt, chance)
    given = rule(attempt, error or Exception("the error is in another process"))
    if isinstance(given, int | float):
        given = min(given, LONGEST_DELAY)  # what grows without end is no mistake of the rule
    return None if given is None else min(seconds(given, name="backoff"), LONGEST_DELAY)


def stopped(
    run: Claimed, job: Job[..., Any], why: str, detail: str, chance: float
) -> Ending | None:
    """After a stop from outside."""
    if why == "cancel":
        return ended(run, State.CANCELLED, Failure(type="Cancel", message=detail))
    if why == "timeout":
        overall = run.seconds_left is not None and (
            job.spec.timeout is None or run.seconds_left <= job.spec.timeout
        )
        limit = run.seconds_left if overall else job.spec.timeout
        name = "run_timeout" if overall else "timeout"
        message = (
            f"it took longer than {in_words(limit or 0)} ({name}){': ' + detail if detail else ''}"
        )
        failure = Failure(type="Timeout", message=message)
        if overall:
            return ended(run, State.FAILED, failure)
        return again_or_failed(run, job, failure, TimeoutError(message), None, chance)
    if why == "shutdown" and job.spec.effect is Effect.UNSAFE:
        message = "its worker stopped while it went, and it may not be repeated"
        return ended(run, State.FAILED, Failure(type="Shutdown", message=message))
    if why == "shutdown":
        return handed_back(run)
    if why == "silence":
        message = "its worker lost touch with the database and stopped what may not run twice"
        return broken(run, Failure(type="Silence", message=message), chance)
    return None


def broken(run: Claimed, failure: Failure, chance: float) -> Ending:
    """After a failure of the infrastructure, which has a budget of its own."""
    if run.infra_attempt >= run.max_infra_attempts:
        return ended(run, State.FAILED, failure, spent=SPENDS_INFRA)
    delay = INFRA_BACKOFF.delay(run.infra_attempt + 1, chance)
    return parked(run, failure, delay, "broken", WaitCause.RETRY, SPENDS_INFRA)


def handed_back(run: Claimed) -> Ending:
    """For a run that this worker does not carry out after all: it is ready again."""
    failure = Failure(type="HandedBack", message="its worker handed it back")
    return Ending.of(run, State.READY, "returned", SPENDS_NOTHING, error=text(failure))


def unknown(run: Claimed, name: str) -> Ending:
    """For a run whose job this program does not declare: another worker may."""
    failure = Failure(type="NoBody", message=f"its worker's program has no job {name!r}")
    return Ending.of(run, State.READY, "returned", SPENDS_NOTHING, error=text(failure))


def absent_step(run: Claimed, job: str, step: str) -> Ending:
    """For a step that this program does not have: another worker's program may, in a while."""
    message = f"its worker's program has no step {step!r} in workflow {job!r}"
    failure = Failure(type="NoBody", message=message)
    return parked(run, failure, ABSENT, "returned", WaitCause.DELAY, SPENDS_NOTHING)


def left(run: Claimed, answer: Parked) -> Ending:
    """After a body that was left until something has happened."""
    failure = Failure(type="", message=answer.reason) if answer.reason else None
    return Ending.of(
        run,
        State.WAITING,
        "parked",
        SPENDS_NOTHING,
        wait_cause=WaitCause(answer.cause),
        delay=None if answer.seconds is None else min(max(answer.seconds, 0.0), LONGEST_DELAY),
        wait_for=answer.wait_for or None,
        wake_below=None if answer.seen_open is None else answer.seen_open - 1,
        error=text(failure) if failure else None,
        part=True,
    )


def ended(run: Claimed, state: State, failure: Failure, *, spent: str = SPENDS_ATTEMPT) -> Ending:
    """An end that is no success."""
    return Ending.of(run, state, state.value, spent, error=text(failure))


def parked(
    run: Claimed, failure: Failure, delay: float, outcome: str, cause: WaitCause, spent: str
) -> Ending:
    """A wait."""
    return Ending.of(
        run,
        State.WAITING,
        outcome,
        spent,
        wait_cause=cause,
        delay=min(delay, LONGEST_DELAY),
        error=text(failure),
    )


def text(failure: Failure) -> str:
    """A failure as JSON text."""
    return json.dumps(failure.to_json())
