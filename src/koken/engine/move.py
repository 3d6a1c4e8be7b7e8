"""The moment a subject moves: row, job and record in one transaction, ours or a caller's."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from koken.define.machine import Transition
from koken.engine import start
from koken.engine.grant import HINT
from koken.errors import Conflict, DeclarationError, NotFound, Refused
from koken.model.job import StartOptions
from koken.store.database import Database, Transaction
from koken.store.statements import Statement, quoted

MOVE = Statement("move")
MOVE_REFUSED = Statement("move_refused")
FOLLOW_LATE = Statement("follow_late")

Rows = Sequence[Mapping[str, Any]]
Questions = Generator[tuple[Any, ...], Rows, "Moved"]
"""Gives statements with their arguments, is given their rows: the same over every driver."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move came to: the run that it started, and whether that stands in line for a lock."""

    run_id: int | None
    in_line: bool


@dataclass(slots=True, kw_only=True)
class Move:
    """One subject on its way through a transition; ``args`` are the job's, as plain values."""

    transition: Transition
    key: Any
    args: Mapping[str, Any]
    workspace: str
    by: str
    """Who starts the job; may be empty."""
    who: str
    """Who acts, for the rule and the record."""
    reason: str | None
    state: str = field(default="", init=False)
    """Where the subject stood."""

    @property
    def subject(self) -> str:
        """``experiment 1``."""
        return f"{self.transition.machine.name} {self.key}"

    def questions(self) -> Questions:
        """Look, judge, move. Raises ``NotFound`` and ``Refused``."""
        row = found(self, (yield (look(self.transition), self.key)))
        self.state = state_of(row.pop("koken_state"))
        subject = row.pop("koken_key")
        if (why := refusal(self, row)) is not None:
            raise Refused(why, what=self.subject)
        (done,) = yield (MOVE.text("koken"), *self.parameters(subject))
        if done["refusal"] is not None:
            raise Refused(
                done["refusal"], what=self.subject, held_by=done["held_by"], since=done["since"]
            )
        return Moved(done["run_id"], done["in_line"])

    def parameters(self, subject: str) -> tuple[Any, ...]:
        """The arguments of the move's statement."""
        each, machine, job = self.transition, self.transition.machine, self.transition.start
        about = each.about
        what = {
            "machine": machine.name,
            "transition": each.name,
            "table": table(each),
            "column": quoted(machine.column),
            "key": quoted(machine.key),
            "subject": subject,
            "state": self.state,
            "target": each.target,
            "on_success": each.on_success,
            "on_failure": each.on_failure,
            "supersedes": [job.name for job in each.supersedes],
            "excludes": [job.name for job in each.excludes],
            "about": about.key if about else None,
            "about_argument": about.argument if about else None,
            "by": self.who,
            "reason": self.reason,
        }
        name, options = (job.name, job.options) if job else ("", StartOptions())
        given = start.parameters(name, self.args, self.workspace, options, self.by)
        return (json.dumps(what), *given)


def look(transition: Transition) -> str:
    """The statement that reads a subject's row and holds it."""
    machine = transition.machine
    return (
        f"select *, cast({quoted(machine.column)} as text) as koken_state,"
        f" cast({quoted(machine.key)} as text) as koken_key"
        f" from {table(transition)} where {quoted(machine.key)} = $1 for update"
    )


def table(transition: Transition) -> str:
    """The table's name, quoted."""
    return ".".join(quoted(part) for part in transition.machine.table)


def found(move: Move, rows: Rows) -> dict[str, Any]:
    """The one row of a subject."""
    if not rows:
        raise NotFound(f"there is no {move.subject}")
    if len(rows) > 1:
        machine = move.transition.machine
        raise DeclarationError(
            f"machine {machine.name!r}: {len(rows)} rows have {machine.key} {move.key}. "
            "key= names a column that tells rows apart."
        )
    return dict(rows[0])


def state_of(value: Any) -> str:
    """A state as the column has it."""
    return str(value.value if isinstance(value, Enum) else value)


def refusal(move: Move, row: Mapping[str, Any]) -> str | None:
    """Why this subject may not be moved so: its state, who asks, or the guard."""
    each = move.transition
    if move.state not in each.sources:
        sources = " or ".join(each.sources)
        return f"{each.name!r} goes from {sources}, {move.subject} is {move.state}"
    if isinstance(each.who, tuple):
        if move.who not in each.who:
            return f"{each.name!r} is for {' and '.join(each.who)}, not for {move.who}"
    elif each.who is not None and (why := text(move, "who", each.who(move.who, row))):
        return why
    return None if each.guard is None else text(move, "guard", each.guard(row))


def text(move: Move, option: str, answer: object) -> str | None:
    """What a guard has answered. Raises ``TypeError`` for anything but None or a text."""
    if answer is None or (isinstance(answer, str) and answer.strip()):
        return answer
    raise TypeError(
        f"{option} of {move.transition.name!r} answered {answer!r}; "
        "it gives None, or the text that refuses"
    )


async def move(db: Database, wanted: Move) -> Moved:
    """Move a subject in a transaction of our own; what refuses it is recorded.

    Raises ``NotFound``, ``Refused``, or what the start of its job raises.
    """

    async def work(tx: Transaction) -> Moved:
        return await carry(wanted, tx.fetch_text)

    try:
        moved = await db.run(work)
    except Conflict as error:
        await record_refusal(db, wanted, error)
        raise
    if moved.run_id is not None and moved.in_line:
        await start.take_locks(db, moved.run_id)
    return moved


async def carry(wanted: Move, fetch: Callable[..., Awaitable[Rows]]) -> Moved:
    """Move a subject over a connection that awaits."""
    questions = wanted.questions()
    asked = next(questions)
    try:
        while True:
            asked = questions.send(await fetch(*asked))
    except StopIteration as end:
        moved: Moved = end.value
        return moved


def carry_blocking(wanted: Move, fetch: Callable[..., Rows]) -> Moved:
    """Move a subject over a connection that blocks."""
    questions = wanted.questions()
    asked = next(questions)
    try:
        while True:
            asked = questions.send(fetch(*asked))
    except StopIteration as end:
        moved: Moved = end.value
        return moved


async def record_refusal(db: Database, wanted: Move, error: Conflict) -> None:
    """Keep that a move was refused, whatever becomes of the transaction that asked for it.

    Raises ``DeclarationError`` when it is the machine's own table that there is not.
    """
    name = ".".join(wanted.transition.machine.table)
    if error.what == "schema" and f'"{name}"' in str(error):
        raise DeclarationError(
            f"machine {wanted.transition.machine.name!r}: there is no table {name} in the database "
            "of Koken. A machine moves rows of that database."
        ) from error
    detail = {
        "machine": wanted.transition.machine.name,
        "transition": wanted.transition.name,
        "subject": str(wanted.key),
        "from": wanted.state,
        "to": wanted.transition.target,
        **({"asked": wanted.reason} if wanted.reason else {}),
    }
    await db.fetch(MOVE_REFUSED, wanted.workspace, wanted.who, str(error), json.dumps(detail))


async def follow_late(db: Database) -> set[int]:
    """Carry out what the ends of runs have put off; returns queues in which a run became ready."""
    queues = {row["queue_id"] for row in await db.fetch(FOLLOW_LATE)} - {None}
    if queues:
        await db.fetch(HINT, list(queues))
    return queues
