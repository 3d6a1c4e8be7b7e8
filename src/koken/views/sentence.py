"""A run in one sentence: what, how it stands, since when, where, and whether to go on is safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.plan import Plan
from koken.model.run import Run
from koken.model.states import State, WaitCause
from koken.views import clocks, marks, runwords, words
from koken.views.cause import listed
from koken.views.openquestions import QuestionRow
from koken.views.steprows import StepRow, going
from koken.views.whysteps import DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a sentence; ``kind`` is name, state, step, ago, lasting or nothing."""

    text: str
    kind: str = ""
    at: datetime | None = None
    """The instant that it tells; of what lasts, when that began."""


def text(pieces: Sequence[Piece]) -> str:
    """The sentence as plain text."""
    return "".join(piece.text for piece in pieces)


def sentence(
    run: Run[Any],
    rows: Sequence[StepRow],
    now: datetime,
    *,
    plan: Plan | None = None,
    refusal: str = "",
    questions: Sequence[QuestionRow] = (),
    undos: Sequence[StepRow] = (),
    retried: str = "",
) -> list[Piece]:
    """How a run stands. ``rows`` are its steps, ``undos`` what undoes them, ``plan`` is that of
    running it again, ``refusal`` says why there is none. ``retried``: from which retry on its
    tries count, or those of the one step that failed."""
    since = f" since it was {retried}" if retried else ""
    if run.state.ended:
        found = [*ended(run, rows, now, since), *counted(run, rows), *closed(run)]
        found += going_on(plan, refusal) if run.state is State.FAILED else []
    else:
        found = [
            *alive(run, rows, now, questions, since),
            *again_and_again(undos),
            *counted(run, rows),
        ]
    return [Piece(text=runwords.called(run), kind="name"), Piece(text=" "), *found, Piece(text=".")]


def failures(rows: Sequence[StepRow]) -> list[StepRow]:
    """The steps that failed, of those that are runs of the workflow itself."""
    return [row for row in rows if row.state is State.FAILED and not row.recorded]


def ended(run: Run[Any], rows: Sequence[StepRow], now: datetime, since: str) -> list[Piece]:
    """``failed 12 min ago in step load, after 3 tries``."""
    was = "was " if run.state in (State.CANCELLED, State.SKIPPED) else ""
    by = words.plain(run.cancelled_by or "")
    found = [
        Piece(text=was),
        Piece(text=run.state.value, kind="state"),
        Piece(text=f" by {by} " if by else " "),
        Piece(text=clocks.ago(run.ended_at, now), kind="ago", at=run.ended_at),
    ]
    if run.state is State.SUCCEEDED and run.started_at is not None:
        return [*found, Piece(text=f", in {runwords.took(run, now)}")]
    if run.state is not State.FAILED:
        return found
    failed = failures(rows)
    if failed:
        return [*found, Piece(text=" in "), *named(failed), *after(tries(failed), since)]
    return [*found, *after(run.attempt, since)]


def named(rows: Sequence[StepRow]) -> list[Piece]:
    """``step load``; ``3 steps: load, clean and publish``."""
    names = [words.plain(row.name) for row in rows]
    if len(names) == 1:
        return [Piece(text="step "), Piece(text=names[0], kind="step")]
    return [Piece(text=f"{len(names):,} steps: "), Piece(text=listed(names), kind="step")]


def tries(rows: Sequence[StepRow]) -> int:
    """How often a step was tried, where it is one."""
    return rows[0].attempt if len(rows) == 1 else 0


def after(number: int, since: str) -> list[Piece]:
    """``, after 3 tries``."""
    tried = words.counted(number, "try", "tries")
    return [Piece(text=f", after {tried}{since}")] if number else []


def counted(run: Run[Any], rows: Sequence[StepRow]) -> list[Piece]:
    """``; 4 of 6 steps are done``."""
    if not rows or any(row.recorded for row in rows):
        return []
    thing = "item" if run.of_step else "step"
    done = sum(row.state in DONE for row in rows)
    kept = sum(row.kept_from is not None for row in rows)
    of = f", {kept:,} of them kept from {run.job} {run.origin.id}" if kept and run.origin else ""
    if done == len(rows) > 1:
        return [Piece(text=f"; all {done:,} {thing}s are done{of}")]
    verb = "is" if done == 1 else "are"
    return [Piece(text=f"; {done:,} of {words.counted(len(rows), thing)} {verb} done{of}")]


def closed(run: Run[Any]) -> list[Piece]:
    """Who has seen a failure."""
    if run.acknowledged_by is None or run.state is State.SUCCEEDED:
        return []
    return [Piece(text=f"; acknowledged by {words.plain(run.acknowledged_by)}")]


def going_on(plan: Plan | None, refusal: str) -> list[Piece]:
    """Whether running it again is safe."""
    if plan is None:
        return [Piece(text=f"; it cannot run again now: {words.plain(refusal)}")] if refusal else []
    return [Piece(text=f"; {again(plan)} "), *safety(plan)]


def again(plan: Plan) -> str:
    """``running again from load``."""
    first = [each.step for each in plan.again if not each.follows]
    if plan.from_step is not None:
        return f"running again from {words.plain(plan.from_step)}"
    alone = len(first) <= 1 and not plan.keeps and not plan.then
    return "running again" if alone or not first else f"running again {words.plain(listed(first))}"


def safety(plan: Plan) -> list[Piece]:
    """``is safe``, or what it may repeat."""
    if plan.unsafe:
        said = f"repeats {words.plain(listed(plan.unsafe))}, which is unsafe"
        return [Piece(text=said, kind="warn")]
    if plan.may_repeat:
        said = f"may repeat what {words.plain(listed(plan.may_repeat))} "
        said += "does" if len(plan.may_repeat) == 1 else "do"
        return [Piece(text=f"{said} outside", kind="warn")]
    return [Piece(text="is safe", kind="safe")]


def alive(
    run: Run[Any],
    rows: Sequence[StepRow],
    now: datetime,
    questions: Sequence[QuestionRow],
    since: str,
) -> list[Piece]:
    """How a run stands that has not ended."""
    mark = marks.of_run(run)
    if run.phase == "compensating":
        then = f", then it ends as {run.settle}" if run.settle else ""
        return [Piece(text="is being "), Piece(text="undone", kind="state"), Piece(text=then)]
    if run.phase == "cancelling":
        where = f" on {run.worker}" if run.worker and run.state is State.RUNNING else ""
        return [Piece(text="is being "), Piece(text=f"cancelled{where}", kind="state")]
    if run.state is State.RUNNING or run.phase == "running":
        return [*running(run, now, since), *at_hand(rows)]
    if run.state is State.WAITING and run.wait is not None:
        return waiting(run, now, questions)
    return [Piece(text="is "), Piece(text=mark.word, kind="state")]


def again_and_again(undos: Sequence[StepRow]) -> list[Piece]:
    """``; undo charge has failed after 2 tries and is tried again``."""
    failed = [row for row in undos if row.wait is not None and row.wait.cause is WaitCause.RETRY]
    if not failed:
        return []
    names = words.plain(listed([row.name for row in failed]))
    have = "has failed" if len(failed) == 1 else "have failed"
    tried = words.counted(max(row.attempt for row in failed), "try", "tries")
    return [
        Piece(text="; "),
        Piece(text=names, kind="step"),
        Piece(text=f" {have} after {tried} and {'is' if len(failed) == 1 else 'are'} tried again"),
    ]


def running(run: Run[Any], now: datetime, since: str) -> list[Piece]:
    """``runs for 4 min on w-7, attempt 2 of 3``."""
    begun = runwords.begun(run) or run.created_at
    found = [
        Piece(text="is "),
        Piece(text="running", kind="state"),
        Piece(text=" for "),
        Piece(text=clocks.length_of(begun, now), kind="lasting", at=begun),
    ]
    if run.state is State.RUNNING and run.worker:
        found.append(Piece(text=f" on {words.plain(run.worker)}"))
    if run.attempt > 1 and not run.children:
        found.append(Piece(text=f", {runwords.tried(run)}{since}"))
    return found


def at_hand(rows: Sequence[StepRow]) -> list[Piece]:
    """``, now at crunch and table``."""
    names = [] if any(row.recorded for row in rows) else going(rows)
    if not names:
        return []
    return [Piece(text=", now at "), Piece(text=words.plain(listed(names)), kind="step")]


def waiting(run: Run[Any], now: datetime, questions: Sequence[QuestionRow]) -> list[Piece]:
    """What a run waits for."""
    assert run.wait is not None
    cause, until = run.wait.cause, run.wait.until
    due = f", {clocks.by_then(cause, until, now)}" if until is not None else ""
    if cause is WaitCause.QUESTION and questions:
        asked = questions[0]
        whom = words.plain(asked.for_whom)
        found = [
            Piece(text="waits for "),
            Piece(text=whom or "an answer", kind="state"),
            Piece(text=" to answer, asked " if whom else ", asked "),
            Piece(text=clocks.ago(asked.asked_at, now), kind="ago", at=asked.asked_at),
        ]
        return [*found, Piece(text=f": “{words.plain(asked.text)}”{due}")]
    if cause is WaitCause.RETRY:
        said = f", after attempt {run.attempt} of {run.max_attempts} failed{due}"
        return [Piece(text="waits for "), Piece(text="its next attempt", kind="state"),
                Piece(text=said)]  # fmt: skip
    what = {
        WaitCause.SIGNAL: "the signal " + " or ".join((run.wait.wait_for or "").splitlines()),
        WaitCause.OPERATION: "work elsewhere",
        WaitCause.SLEEP: "a while, as it wants",
        WaitCause.DELAY: "its time",
        WaitCause.GATE: "its gate",
    }.get(cause, "an answer")
    return [Piece(text="waits for "), Piece(text=words.plain(what), kind="state"), Piece(text=due)]
