"""A run in words: what it is called and is about, who started it, where it stands.

Pure; the time is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any

from koken.model.run import FROM_FORM, Run
from koken.model.runparts import Children
from koken.model.states import State, WaitCause
from koken.views import clocks, words
from koken.views.cause import listed
from koken.views.marks import of_run


def took(run: Run[Any], now: datetime) -> str:
    """How long a run has been at work, or was: its latest attempt, without waits before it."""
    if run.started_at is None:
        return "–"
    end = run.ended_at or (now if run.state is State.RUNNING or run.phase == "running" else None)
    return "–" if end is None else clocks.length_of(begun(run), end)


def begun(run: Run[Any]) -> datetime | None:
    """When the latest attempt at a run began; one that is made of others began once.

    That one is told as if it had begun later by as long as it had ended meanwhile, so that from
    there on the time at work is counted.
    """
    if not run.children or run.started_at is None:
        return run.claimed_at or run.started_at
    return run.started_at + timedelta(seconds=run.idle)


def glyph(run: Run[Any]) -> str:
    """The sign of a run's state."""
    return of_run(run).glyph


def retrying(run: Run[Any]) -> bool:
    """Whether a run waits for its next attempt."""
    return run.wait is not None and run.wait.cause is WaitCause.RETRY


def word(run: Run[Any]) -> str:
    """The word for a run's state."""
    return of_run(run).word


def called(run: Run[Any]) -> str:
    """``nightly 412``; a step is called after its job and itself: ``nightly crunch 416``."""
    step = "" if run.step is None else f" {words.plain(run.step)}"
    return f"{run.job}{step} {run.id}"


def about(run: Run[Any], args: Mapping[str, Any] | None = None) -> str:
    """What a run is about: its subject, its key, or its arguments.

    ``args`` are these as they may be shown, where that is not as they are.
    """
    key = run.idempotency_key or ""
    told = words.arguments(run.args if args is None else args)
    return run.subject or ("" if key.startswith(FROM_FORM) else key) or told


def trigger(run: Run[Any]) -> str:
    """Who or what started a run, in short."""
    return run.trigger.by or run.trigger.kind.value


def started_by(run: Run[Any], zone: tzinfo | None = None) -> str:
    """Who or what started a run, as part of a sentence; a due time is told in ``zone``.

    None: this machine's.
    """
    if run.trigger.schedule is not None and run.trigger.due_at is not None:
        due = run.trigger.due_at.astimezone(zone)
        return f"tick {due:%Y-%m-%d {clocks.clock_shape(due)} %Z} ({run.trigger.schedule})"
    return f"started by {run.trigger.by or run.trigger.kind.value}"


def tries(run: Run[Any]) -> str:
    """``1/3``."""
    return f"{run.attempt}/{run.max_attempts}"


def why(run: Run[Any]) -> str:
    """Why a run stands as it does; nothing where only somebody's having cancelled it is known."""
    known = run.cancelled_by and run.reason == f"cancelled by {run.cancelled_by}"
    return "" if known else words.plain(run.reason)


def standing(run: Run[Any], now: datetime, names: Sequence[str] = ()) -> str:
    """Where a run stands, without its name: ``failed 12 min ago, attempt 3 of 3: OSError: …``.

    ``names`` are the steps of it that go, where they are known.
    """
    attempt = tried(run)
    reason = f": {why(run)}" if why(run) else ""
    by = f" by {words.plain(run.cancelled_by)}" if run.cancelled_by else ""
    if run.state.ended:
        closed = f" (acknowledged by {run.acknowledged_by})" if run.acknowledged_by else ""
        tries = f", {attempt}" if run.state is State.FAILED and attempt else ""
        return f"{word(run)}{by} {clocks.ago(run.ended_at, now)}{tries}{reason}{closed}"
    if run.children and run.phase in ("running", "compensating"):
        return f"{word(run)} for {took_so_far(run, now)}: {going(run.children, names)}"
    if run.state is State.RUNNING:
        since = f" for {took(run, now)}" if run.started_at else ""
        return f"{word(run)} on {run.worker}{since}{', ' if attempt else ''}{attempt}"
    until = ""
    if run.wait is not None and run.wait.until is not None:
        until = f", {clocks.by_then(run.wait.cause, run.wait.until, now)}"
    if retrying(run):
        return f"waits for its next attempt{until}; {attempt} failed{reason}"
    return f"{word(run)}{until}"


def took_so_far(run: Run[Any], now: datetime) -> str:
    """How long a run goes that is made of others."""
    return clocks.length_of(begun(run) or run.created_at, now)


def tried(run: Run[Any]) -> str:
    """``attempt 1 of 2``; nothing for a workflow, whose steps are what is tried."""
    return "" if run.is_workflow else f"attempt {run.attempt} of {run.max_attempts}"


def going(children: Children, names: Sequence[str]) -> str:
    """``3 of its runs go: size, crunch and table``."""
    which = f": {words.plain(listed(names))}" if names else ""
    return f"{children.going:,} of its runs {'goes' if children.going == 1 else 'go'}{which}"
