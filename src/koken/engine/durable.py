"""The moments in which a durable body waits: for a time, a word, a person, its children."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.engine.start import take_locks
from koken.errors import LeaseLost
from koken.model import codec
from koken.model.durable import Met, Waiting, Wanted
from koken.model.plain import instant_of, stamp
from koken.model.states import State
from koken.store.database import Database
from koken.store.statements import Statement

AWAIT_IT = Statement("await_it")
CHILD_OF = Statement("child_of")
OPEN_CHILDREN = Statement("open_children")
SEND_SIGNAL = Statement("send_signal")
AWAITED_FORMS = Statement("awaited_forms")
ANSWER_QUESTION = Statement("answer_question")
OPEN_QUESTIONS = Statement("open_questions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A child as it stands: JSON texts of its result and its error."""

    id: int
    job: str
    state: State
    result: str | None
    error: str | None
    open: int | None
    """How many children of its parent are open; None when it is nobody's child."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of a run that waits for somebody's answer."""

    key: str
    text: str
    to: str
    schema: str
    """The form of its answer: a JSON Schema, as text."""
    asked_at: datetime
    until: datetime | None
    reason: str = ""
    """Why it is asked again: what was wrong with the answer before."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "key": self.key,
            "text": self.text,
            "to": self.to,
            "schema": codec.decode(self.schema),
            "asked_at": stamp(self.asked_at),
            "until": stamp(self.until),
            "reason": self.reason or None,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Question:
        """What ``to_json`` gave."""
        return cls(
            key=plain["key"],
            text=plain["text"],
            to=plain["to"],
            schema=codec.encode(plain["schema"], name="the form"),
            asked_at=datetime.fromisoformat(plain["asked_at"]),
            until=instant_of(plain["until"]),
            reason=plain["reason"] or "",
        )


async def wait(db: Database, run_id: int, lease: int, waiting: Waiting) -> Met:
    """Record a wait, or look how a recorded one stands. Raises ``LeaseLost``."""
    rows = await db.fetch(
        AWAIT_IT,
        run_id,
        lease,
        waiting.key,
        waiting.ordinal,
        waiting.kind,
        waiting.name,
        waiting.seconds,
        waiting.until,
        waiting.schema,
        waiting.to,
        waiting.reason,
        waiting.before,
    )
    if not rows:
        raise lost(run_id)
    late = rows[0]["late"]
    return Met(None if late else rows[0]["value"], late, rows[0]["remaining"])


async def child(db: Database, run_id: int, lease: int, wanted: Wanted) -> Begun:
    """Start a child of a run, or find it.

    Raises what a start raises, and ``LeaseLost``.
    """
    options = wanted.options
    rows = await db.fetch(
        CHILD_OF,
        run_id,
        lease,
        wanted.key,
        wanted.step,
        wanted.spent,
        wanted.job,
        codec.encode(wanted.args, name="the arguments"),
        options.run_at,
        options.delay,
        options.priority,
        options.queue,
        options.idempotency_key,
        options.overlap,
        options.logical_time,
    )
    if not rows:
        raise lost(run_id)
    found = rows[0]
    if found["in_line"]:
        await take_locks(db, found["child_id"])
    return Begun(
        id=found["child_id"],
        job=found["job"],
        state=State(found["state"]),
        result=found["result"],
        error=found["error"],
        open=found["open_children"],
    )


async def open_children(db: Database, run_id: int, ids: Sequence[int]) -> tuple[list[int], int]:
    """Which of these runs have ended, and how many children of the run have not."""
    rows = await db.fetch(OPEN_CHILDREN, run_id, list(ids))
    if not rows:
        raise lost(run_id)
    return list(rows[0]["ended"] or ()), rows[0]["open_children"]


def lost(run_id: int) -> LeaseLost:
    """What a body is told whose run belongs to another attempt."""
    return LeaseLost(f"run {run_id} is no longer carried by this attempt; it must stop")


async def awaited_forms(db: Database, run_id: int, name: str) -> list[str]:
    """What the next signal of that name may be, one JSON Schema for each wait that is open for it.

    None when nobody waits, or when what was sent before serves all who do.
    """
    return [row["schema"] for row in await db.fetch(AWAITED_FORMS, run_id, name)]


async def send_signal(
    db: Database, run_id: int, name: str, value: str, *, by: str, reason: str | None = None
) -> None:
    """Keep a signal for a run, and wake it when it waits for that; ``value`` is JSON text.

    Raises ``NotFound``, and ``Refused`` for a run that has ended.
    """
    await db.fetch(SEND_SIGNAL, run_id, name, value, by, reason)


async def open_questions(db: Database, run_id: int) -> list[Question]:
    """The questions of a run that nobody has answered yet."""
    return [
        Question(
            key=row["key"],
            text=row["text"],
            to=row["for_whom"],
            schema=row["schema"],
            asked_at=row["asked_at"],
            until=row["until_at"],
            reason=row["reason"],
        )
        for row in await db.fetch(OPEN_QUESTIONS, run_id)
    ]


async def answer_question(
    db: Database, run_id: int, key: str, answer: str, *, by: str, reason: str | None = None
) -> None:
    """Answer a question, once; ``answer`` is JSON text.

    Raises ``NotFound``, and ``Refused`` when somebody has answered, or nobody waits any more.
    """
    await db.fetch(ANSWER_QUESTION, run_id, key, answer, by, reason)
