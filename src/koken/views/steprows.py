"""A step of a run as it stands: a row of what views and doors tell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.plain import instant_of, number_of, stamp
from koken.model.run import Run
from koken.model.runparts import Children, Failure, Wait
from koken.model.states import State, WaitCause
from koken.model.steps import StepSpec
from koken.store.database import Row
from koken.views.marks import LOCK, TURN, Mark, of_step
from koken.views.recorded import ChildRow, Record
from koken.views.results import listed, result_of
from koken.views.runs import children_of, wait_of

FAILED, NOT_STARTED, WAITING, EXECUTING, SKIPPED, COMPLETED = -1, 0, 1, 2, 3, 4
CODES = {
    State.FAILED: FAILED,
    State.CANCELLED: FAILED,
    State.READY: NOT_STARTED,
    State.RUNNING: EXECUTING,
    State.SKIPPED: SKIPPED,
    State.SUCCEEDED: COMPLETED,
}
GOING = (State.READY, State.RUNNING, State.WAITING)
HELD = (WaitCause.GATE, WaitCause.DELAY)
"""Waits before the beginning; the others are in the middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A step and its run, if it has one yet."""

    name: str
    no: int
    run_id: int | None = None
    state: State | None = None
    over: bool = False
    """Whether its workflow has ended."""
    code: int = NOT_STARTED
    """-1 failed, 0 not started, 1 waits for its needs, 2 executing, 3 skipped, 4 completed."""
    attempt: int = 0
    max_attempts: int = 1
    items: Children | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    took: float | None = None
    """Seconds that its attempts have taken; None for one that a person has resolved."""
    error: Failure | None = None
    result: str = ""
    """Its result in brief."""
    wait: Wait | None = None
    gate: str = ""
    """The gate's or window's text, as it is declared."""
    not_before_at: datetime | None = None
    """What its gate says, while it waits for its needs too."""
    worker: str | None = None
    percent: int | None = None
    message: str = ""
    cancelling: bool = False
    undoing: bool = False
    """Whether it undoes another one's work."""
    recorded: bool = False
    """Whether it is a step of a body, which has no run of its own."""
    detail: str = ""
    """Of an operation: its handle, and how often it was submitted."""
    child: ChildRow | None = None
    """The run that it stands for, or has started."""
    kept_from: int | None = None
    """Of a step that a fork keeps: the run of its origin that it was."""

    @property
    def reason(self) -> str:
        """One line on why it stands as it does; empty when all is well."""
        return "" if self.error is None else self.error.in_line

    @property
    def tried_again(self) -> bool:
        """Whether an attempt at it has failed."""
        retried = self.wait is not None and self.wait.cause is WaitCause.RETRY
        return self.attempt > 1 or retried or (self.state is State.FAILED and self.attempt > 0)

    @property
    def counts_needs(self) -> bool:
        """Whether something has to end before it may go."""
        return self.state is State.BLOCKED and self.code == WAITING

    @property
    def held_until(self) -> datetime | None:
        """Until when it is held or waits, as far as that is known."""
        if self.wait is not None:
            return self.wait.until
        return self.not_before_at if self.state is State.BLOCKED and not self.over else None

    @property
    def mark(self) -> Mark:
        """Its glyph, word and look."""
        cause = self.wait.cause if self.wait else None
        if self.counts_needs:
            return TURN
        if self.state is State.BLOCKED and not self.over and not self.cancelling:
            return LOCK
        return of_step(self.state, cause, over=self.over, cancelling=self.cancelling)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name,
            "no": self.no,
            "run": None if self.run_id is None else str(self.run_id),
            "state": self.state.value if self.state else None,
            "code": self.code,
            "attempt": self.attempt,
            "max_attempts": self.max_attempts,
            "items": {"done": self.items.done, "total": self.items.made, "bad": self.items.bad}
            if self.items
            else None,
            "started_at": stamp(self.started_at),
            "ended_at": stamp(self.ended_at),
            "took": self.took,
            "reason": self.reason or None,
            "gate": self.gate or None,
            "wait": self.wait.to_json() if self.wait else None,
            "not_before": stamp(self.not_before_at),
            "worker": self.worker,
            "undoes": self.undoing,
            "child": self.child.to_json() if self.child else None,
            "detail": self.detail or None,
            "result": self.result or None,
            "recorded": self.recorded,
            "kept_from": None if self.kept_from is None else str(self.kept_from),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> StepRow:
        """What ``to_json`` gave; of its error the reason in a line."""
        items = plain["items"]
        same = ("name", "no", "code", "attempt", "max_attempts", "took", "worker", "recorded")
        return cls(
            **{name: plain[name] for name in same},
            run_id=number_of(plain["run"]),
            state=State(plain["state"]) if plain["state"] else None,
            items=items
            and Children(
                made=items["total"],
                going=0,
                held=items["total"] - items["done"],
                bad=items["bad"],
            ),
            started_at=instant_of(plain["started_at"]),
            ended_at=instant_of(plain["ended_at"]),
            error=Failure(type="", message=plain["reason"]) if plain["reason"] else None,
            result=plain["result"] or "",
            wait=Wait.from_json(plain["wait"]) if plain["wait"] else None,
            gate=plain["gate"] or "",
            not_before_at=instant_of(plain["not_before"]),
            undoing=plain["undoes"],
            detail=plain["detail"] or "",
            child=ChildRow.from_json(plain["child"]) if plain["child"] else None,
            kept_from=number_of(plain["kept_from"]),
        )


def going(rows: Sequence[StepRow]) -> list[str]:
    """The names of the steps that may go, and have not ended."""
    return [row.name for row in rows if row.state in GOING]


def of_record(record: Record, no: int, run: Run[Any]) -> StepRow:
    """What a body has recorded as a step; what it is made of has its own log and number."""
    result = record.result if record.length is None else listed(record.length, record.name)
    own = record.child is not None
    return StepRow(
        name=record.name,
        no=no,
        run_id=record.child.id if record.child else None,
        state=record.state,
        over=run.state.ended,
        code=code_of(record.state, record.wait, needy=False, over=run.state.ended),
        attempt=record.tries,
        max_attempts=max(record.tries, 1),
        items=record.items,
        ended_at=record.ended_at,
        error=record.error,
        result=result,
        wait=record.wait,
        worker=run.worker if record.state is State.RUNNING and not own else None,
        recorded=True,
        detail=record.detail,
        child=record.child,
    )


def not_begun(spec: StepSpec, *, over: bool) -> StepRow:
    """A declared step of a run that has not been opened."""
    return StepRow(
        name=spec.name,
        no=spec.no,
        code=WAITING if spec.needs and not over else NOT_STARTED,
        over=over,
        max_attempts=spec.max_attempts,
        gate=gate_of(spec),
    )


def gate_of(spec: StepSpec) -> str:
    """What holds a step back: ``gate 30 4 * * *``."""
    if spec.gate:
        return f"gate {spec.gate}"
    return f"window {spec.window}" if spec.window else ""


def of_row(
    row: Row,
    *,
    over: bool,
    item: bool = False,
    spec: StepSpec | None = None,
    child: ChildRow | None = None,
) -> StepRow:
    """A row as a step; an item is called by its number too."""
    state = State(row["state"])
    wait = wait_of(row)
    return StepRow(
        name=f"{row['step']}[{row['step_no'] - 1}]" if item else row["step"],
        no=row["step_no"],
        run_id=row["id"],
        state=state,
        over=over,
        code=code_of(state, wait, needy=row["open_needs"] is not None, over=over),
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        items=children_of(row) if spec is not None and spec.each else None,
        started_at=row["started_at"],
        ended_at=row["finished_at"],
        took=row["took"],
        error=Failure.from_json(json.loads(row["error"]))
        if row["error"] and state is not State.SUCCEEDED
        else None,
        result=result_of(row, spec),
        gate=gate_of(spec) if spec is not None else "",
        wait=wait,
        not_before_at=row["not_before_at"],
        worker=row["worker"],
        percent=row["progress"],
        message=row["progress_text"] or "",
        cancelling=row["cancel_requested_at"] is not None,
        undoing=row["undoes_id"] is not None,
        child=child,
        kept_from=row["origin_id"],
    )


def code_of(state: State, wait: Wait | None, *, needy: bool, over: bool) -> int:
    """The standing in numbers; ``needy``: it counts needs still."""
    if state is State.BLOCKED:
        return WAITING if needy and not over else NOT_STARTED
    if state is State.WAITING:
        return NOT_STARTED if wait is not None and wait.cause in HELD else EXECUTING
    return CODES[state]
