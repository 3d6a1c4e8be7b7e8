"""Facts in words: what the demo says about ticks, runs and attempts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from examples.flights.screen import Screen
from examples.flights.watch import Fact, Going, Taken, Ticked, Tried
from koken import Run
from koken.model.states import State
from koken.views.logs import LogLine
from koken.views.runs import AttemptRow
from koken.views.ticks import TickRow

LOG_LINES = 6


class Teller:
    """Says on the screen what has happened, and what goes on."""

    def __init__(self, screen: Screen, *, period: timedelta) -> None:
        self.screen = screen
        self.period = period
        self.crew: dict[int, int] = {}
        """Our workers' numbers by their process."""
        self.live: Run[Any] | None = None
        """The run that goes or waits, if one does."""

    def tell(self, fact: Fact) -> None:
        """Say a fact."""
        match fact:
            case Ticked(tick):
                self.screen.line("tick", ticked(tick), tick.due_at)
            case Taken(run, attempt):
                self.live = run
                self.screen.line("running", self.taken(run, attempt), attempt.started_at or now())
            case Going(run):
                self.live = run
                self.screen.progress(run.progress.percent or 0, run.progress.message)
            case Tried(run, attempt):
                self.live = None if run.state.ended else run
                self.tried(run, attempt)

    def taken(self, run: Run[Any], attempt: AttemptRow) -> str:
        """A worker has begun."""
        where = f"run {run.id} on {self.worker(attempt.worker)}"
        due = run.trigger.due_at
        if attempt.attempt > 1 or due is None or attempt.started_at is None:
            return f"{where}, attempt {attempt.attempt} of {run.max_attempts}"
        late = (attempt.started_at - due).total_seconds()
        return f"{where}, {1000 * late:.0f} ms after it was due"

    def tried(self, run: Run[Any], attempt: AttemptRow) -> None:
        """An attempt is over."""
        if attempt.outcome == "succeeded":
            self.screen.line("succeeded", f"run {run.id}: {result(run.result)}", attempt.ended_at)
            self.screen.line("", f"{run.result['page']}, with its picture")
            return
        why = reason(attempt)
        if run.state.ended:
            self.screen.line(run.state.value, f"run {run.id}: {why}", attempt.ended_at)
            return
        word = attempt.outcome if attempt.outcome == "lost" else "failed"
        self.screen.line(word, f"run {run.id}: {why}", attempt.ended_at)
        if run.wait and run.wait.until and attempt.ended_at:
            pause = (run.wait.until - attempt.ended_at).total_seconds()
            text = f"run {run.id}: the next attempt comes in {pause:.0f} s"
            self.screen.line("waiting", text, attempt.ended_at)

    def standing(self) -> None:
        """Say in the status what goes on now."""
        run = self.live
        if run is not None and run.state is State.WAITING and run.wait and run.wait.until:
            left = (run.wait.until - now()).total_seconds()
            self.screen.status(f"run {run.id} waits for its next attempt: {max(left, 0):.0f} s")
        elif run is None:
            period = self.period.total_seconds()
            self.screen.status(
                f"the next tick is due in {period - now().timestamp() % period:.0f} s"
            )

    def history(
        self, run: Run[Any], attempts: Sequence[AttemptRow], lines: Sequence[LogLine]
    ) -> None:
        """What is kept of a run."""
        self.screen.heading(f"Kept of run {run.id}: its attempts, its log, its result")
        for attempt in attempts:
            why = f": {reason(attempt)}" if attempt.error else ""
            text = f"attempt {attempt.attempt} on {self.worker(attempt.worker)}{why}"
            self.screen.line(attempt.outcome.replace("retry", "failed"), text, attempt.ended_at)
        self.screen.say()
        for line in lines[-LOG_LINES:]:
            self.screen.line(line.level, line.text, line.at)
        self.screen.say()
        self.screen.line("result", json.dumps(run.result))

    def worker(self, name: str | None) -> str:
        """One of our workers by its number, another by its name."""
        pid = (name or "").rpartition("-")[2]
        number = self.crew.get(int(pid)) if pid.isdigit() else None
        return f"worker {number}" if number else name or "a worker that is gone"


def ticked(tick: TickRow) -> str:
    """A schedule was due, and what came of it."""
    if tick.run_id is not None and tick.run_state != State.SKIPPED:
        return f"the schedule starts run {tick.run_id}"
    return f"starts nothing: {tick.reason or tick.verdict}"


def reason(attempt: AttemptRow) -> str:
    """Why an attempt did not succeed."""
    if attempt.error is None:
        return attempt.outcome
    return f"{attempt.error.type}: {attempt.error.message}"


def now() -> datetime:
    """This instant."""
    return datetime.now(UTC)


def result(report: Any) -> str:
    """A report in words."""
    day = datetime.fromisoformat(report["day"])
    total = report["flights"] + report["bad_rows"]
    return f"{day.day} {day:%B}, {total} rows, {report['bad_rows']} of them without times"
