"""The steps of a run, as they stand: by name, in the order of declaration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from koken.errors import NotFound
from koken.model.plain import instant_of, number_of, stamp
from koken.model.run import Run
from koken.model.runparts import Children, Failure, Wait
from koken.model.states import State, WaitCause
from koken.model.steps import ITEM, StepSpec
from koken.store.database import Database, Row, Transaction
from koken.views.marks import Mark, of_step
from koken.views.reading import reading
from koken.views.recorded import ChildRow, Record, last_children, recorded_in
from koken.views.results import listed, result_of
from koken.views.runs import children_of, wait_of
from koken.views.stepqueries import DECLARED, NAMED, NUMBERED, STEPS, UNDONE

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
    def held_until(self) -> datetime | None:
        """Until when it is held or waits, as far as that is known."""
        if self.wait is not None:
            return self.wait.until
        return self.not_before_at if self.state is State.BLOCKED and not self.over else None

    @property
    def mark(self) -> Mark:
        """Its glyph, word and look."""
        cause = self.wait.cause if self.wait else None
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
        )


async def steps(
    db: Database, run: Run[Any], *, after: int = 0, limit: int | None = None
) -> list[StepRow]:
    """The steps of a workflow's run, those without a run yet included; or the items of a step's, or
    what the body of a durable function has recorded. A page of them begins ``after`` a place."""
    async with reading(db) as session:
        declared = await declared_in(session, run)
        return await rows_in(session, run, declared, after=after, limit=limit)


async def rows_in(
    session: Transaction,
    run: Run[Any],
    declared: Sequence[StepSpec],
    *,
    after: int = 0,
    limit: int | None = None,
) -> list[StepRow]:
    """The steps of a run that ``declared`` describes; where it describes none, its items, or what
    it has recorded."""
    found = await session.fetch_text(STEPS, run.id, after, limit)
    over = run.state.ended
    by_no = {spec.no: spec for spec in declared}
    children = await last_children(session, [row["id"] for row in found if starts(row)])
    if not declared and found:
        return [of_row(row, over=over, item=True, child=children.get(row["id"])) for row in found]
    if not declared:
        records = await recorded_in(session, run)
        end = None if limit is None else after + limit
        return [of_record(record, no, run) for no, record in enumerate(records, 1)][after:end]
    begun = {
        row["step_no"]: of_row(
            row, over=over, spec=by_no.get(row["step_no"]), child=children.get(row["id"])
        )
        for row in found
    }
    shown = [spec for spec in declared if spec.no > after][:limit]
    return [begun[spec.no] if spec.no in begun else not_begun(spec, over=over) for spec in shown]


def starts(row: Row) -> bool:
    """Whether a step has runs below it that are no items."""
    return row["made"] is not None and row["at_once"] is None and row["released"] is None


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


async def declared_in(session: Transaction, run: Run[Any]) -> Sequence[StepSpec]:
    """The steps that the job's version declares which ``run`` began with."""
    found = await session.fetch_text(DECLARED, run.id)
    return specs(found[0]["steps"]) if found else ()


@lru_cache(maxsize=64)
def specs(text: str | None) -> Sequence[StepSpec]:
    """The steps of a version, as it is stored; of those that are asked for often read once."""
    return tuple(StepSpec.from_json(plain) for plain in json.loads(text or "[]"))


def going(rows: Sequence[StepRow]) -> list[str]:
    """The names of the steps that may go, and have not ended."""
    return [row.name for row in rows if row.state in GOING]


async def undone(db: Database, run: Run[Any]) -> list[StepRow]:
    """The runs that undo what the steps of ``run`` did, in their order."""
    async with reading(db) as session:
        return await undone_in(session, run)


async def undone_in(session: Transaction, run: Run[Any]) -> list[StepRow]:
    """As ``undone``."""
    found = await session.fetch_text(UNDONE, run.id)
    return [of_row(row, over=run.state.ended) for row in found]


async def step_id(db: Database, run: Run[Any], name: str) -> int:
    """The number of a step's run; ``table[0]`` is the first item of a step. Raises ``NotFound``."""
    async with reading(db) as session:
        found = await session.fetch_text(NAMED, run.id, name)
        if not found and (item := ITEM.fullmatch(name)):
            of: int | None = run.id
            if run.step != item["step"]:
                found = await session.fetch_text(NAMED, run.id, item["step"])
                of = found[0]["id"] if found else None
            found = await session.fetch_text(NUMBERED, of, int(item["no"]) + 1)
    if not found:
        raise NotFound(
            f"run {run.id} has no step {name!r} that has a run; `koken steps {run.id}` lists them"
        )
    return int(found[0]["id"])


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
    )


def code_of(state: State, wait: Wait | None, *, needy: bool, over: bool) -> int:
    """The standing in numbers; ``needy``: it counts needs still."""
    if state is State.BLOCKED:
        return WAITING if needy and not over else NOT_STARTED
    if state is State.WAITING:
        return NOT_STARTED if wait is not None and wait.cause in HELD else EXECUTING
    return CODES[state]
