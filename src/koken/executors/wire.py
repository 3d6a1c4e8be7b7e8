"""What a worker and the process of a body say to each other: JSON only, in frames of bounded size.

Nothing is unpickled, so what a body made of its values stays in its process.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from koken.executors.base import (
    Absent,
    Answer,
    Assignment,
    Broken,
    Parked,
    Raised,
    Returned,
    Stopped,
    Undoing,
)
from koken.model import codec, outcome
from koken.model.outcome import Outcome
from koken.model.runparts import Failure, Trigger, TriggerKind
from koken.model.states import WaitCause

HEAD = struct.Struct("!I")
FRAME_LIMIT = 4 * codec.VALUE_LIMIT
"""Bytes; a value of the largest size fits, with all of its quotes escaped."""

Message = dict[str, Any]
T = TypeVar("T")
ADAPTERS: dict[Any, TypeAdapter[Any]] = {}
OUTCOMES: tuple[type[Outcome], ...] = (
    outcome.Retry,
    outcome.Snooze,
    outcome.Skip,
    outcome.Fail,
    outcome.Cancel,
)


class NotAFrame(Exception):
    """What came is no message of ours."""


def pack(message: Message) -> bytes:
    """A message as a frame."""
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return HEAD.pack(len(body)) + body


def size_of(head: bytes) -> int:
    """The size of the frame that follows. Raises ``NotAFrame``."""
    size: int = HEAD.unpack(head)[0]
    if size > FRAME_LIMIT:
        raise NotAFrame(f"a message of {size:,} bytes; the limit is {FRAME_LIMIT:,}")
    return size


def unpack(body: bytes) -> Message:
    """The message in a frame. Raises ``NotAFrame``."""
    try:
        message = json.loads(body.decode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise NotAFrame(str(error)) from None
    if not isinstance(message, dict):
        raise NotAFrame(f"a message that is a {type(message).__name__}")
    return message


def plain_assignment(facts: Assignment) -> Message:
    """An assignment as plain values. Its timeout is the worker's business."""
    due_at, since = facts.trigger.due_at, facts.trigger.since
    return {
        "run_id": facts.run_id,
        "root_id": facts.root_id,
        "lease": facts.lease,
        "job": facts.job,
        "workspace": facts.workspace,
        "attempt": facts.attempt,
        "max_attempts": facts.max_attempts,
        "logical_time": facts.logical_time.isoformat(),
        "trigger": {
            "kind": facts.trigger.kind.value,
            "by": facts.trigger.by,
            "schedule": facts.trigger.schedule,
            "due_at": due_at and due_at.isoformat(),
            "since": since and since.isoformat(),
        },
        "subject": facts.subject,
        "args": dict(facts.args),
        "step": facts.step,
        "undo": facts.undo,
        "schema": facts.schema,
    }


def assignment_from(plain: Message) -> Assignment:
    """What ``plain_assignment`` gave."""
    told = plain["trigger"]
    trigger = Trigger(
        kind=TriggerKind(told["kind"]),
        by=told["by"],
        schedule=told["schedule"],
        due_at=told["due_at"] and datetime.fromisoformat(told["due_at"]),
        since=told["since"] and datetime.fromisoformat(told["since"]),
    )
    facts = plain | {
        "trigger": trigger,
        "logical_time": datetime.fromisoformat(plain["logical_time"]),
    }
    return Assignment(**facts)


def plain_answer(answer: Answer) -> Message:
    """An answer as plain values; an exception itself stays behind."""
    match answer:
        case Returned(result):
            return {"kind": "returned", "result": result}
        case Raised(failure, kinds):
            return {"kind": "raised", "failure": failure.to_json(), "kinds": list(kinds)}
        case Stopped(why, detail):
            return {"kind": "stopped", "why": why, "detail": detail}
        case Broken(failure):
            return {"kind": "broken", "failure": failure.to_json()}
        case Absent():
            return {"kind": "absent"}
        case Parked():
            return {"kind": "parked", **asdict(answer)}
        case Undoing(names):
            return {"kind": "undoing", "names": list(names)}
        case Outcome():
            kind = next(kind for kind in OUTCOMES if isinstance(answer, kind))
            after = getattr(answer, "after", None)
            return {"kind": kind.__name__, "reason": codec.clean(answer.reason), "after": after}


def answer_from(plain: Mapping[str, Any]) -> Answer:
    """What ``plain_answer`` gave. Raises ``NotAFrame`` for what it cannot have given."""
    try:
        return read_answer(plain)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NotAFrame(f"an answer that is none: {error}") from None


def read_answer(plain: Mapping[str, Any]) -> Answer:
    """As ``answer_from``, for answers that are such."""
    match plain["kind"]:
        case "returned":
            return Returned(codec.encode(codec.decode(plain["result"]), name="the result"))
        case "raised":
            return Raised(Failure.from_json(plain["failure"]), tuple(plain["kinds"]))
        case "stopped":
            return Stopped(plain["why"], plain["detail"])
        case "broken":
            return Broken(Failure.from_json(plain["failure"]))
        case "absent":
            return Absent()
        case "parked":
            return parked_from(plain)
        case "undoing":
            return Undoing(tuple(str(name) for name in plain["names"]))
    kind = {kind.__name__: kind for kind in OUTCOMES}[plain["kind"]]
    if issubclass(kind, outcome.Retry | outcome.Snooze):
        return kind(reason=plain["reason"], after=plain["after"])
    return kind(plain["reason"])


def parked_from(plain: Mapping[str, Any]) -> Parked:
    """The wait that ``plain_answer`` gave."""
    seconds, seen_open = plain["seconds"], plain["seen_open"]
    return Parked(
        cause=WaitCause(plain["cause"]).value,
        seconds=None if seconds is None else float(seconds),
        wait_for=codec.clean(plain["wait_for"]),
        seen_open=None if seen_open is None else int(seen_open),
        reason=codec.clean(plain["reason"]),
    )


def plain_record(record: Any) -> Message:
    """One of the records of ``model.durable`` as plain values."""
    found: Message = adapter(type(record)).dump_python(record, mode="json")
    return found


def record_from(kind: type[T], plain: Any) -> T:
    """What ``plain_record`` gave. Raises ``NotAFrame`` for what it cannot have given."""
    try:
        found: T = adapter(kind).validate_python(plain)
    except ValidationError as error:
        raise NotAFrame(f"a message that is no {kind.__name__}: {error}") from None
    return found


def adapter(kind: Any) -> TypeAdapter[Any]:
    """How records of a kind are made plain."""
    if kind not in ADAPTERS:
        ADAPTERS[kind] = TypeAdapter(kind)
    return ADAPTERS[kind]
