"""What a durable body asks of the database, and what it is told: plain records."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from koken.model import codec
from koken.model.job import StartOptions
from koken.model.run import Run
from koken.model.shown import shown

STEP = "step:"
MAP = "map:"
SAVED = "saved:"
WAIT = "wait:"
FAILED = "failed:"
CHILD = "child:"
OPERATION = "operation:"
"""Beginnings of the keys of checkpoints: what each is of."""

PAST_AN_ERROR = 0
"""The place of what was recorded after a step had failed: another attempt may not come by it."""


NAME_LIMIT = 200
"""Characters of a signal's name."""
KEY_LIMIT = 400
"""Characters of a key that are kept as they are."""


def key_of(kind: str, told: str) -> str:
    """A key in one line, and not too long for an index."""
    line = told.replace("\\", "\\\\").replace("\n", "\\n")
    if len(line) > KEY_LIMIT:
        line = f"{line[:KEY_LIMIT]}… {hashlib.sha256(line.encode()).hexdigest()[:16]}"
    return kind + line


def wrong_name(name: Any) -> str:
    """What is wrong with the name of a signal; empty for a good one."""
    if not isinstance(name, str):
        return f"has a text for its name; this one has {shown(name)}"
    if not name.strip() or not name.isprintable():
        return f"has a name in one line; this one has {shown(name)}"
    if len(name) > NAME_LIMIT:
        return f"has a name of at most {NAME_LIMIT} characters; this one has {len(name):,}"
    return ""


def in_flight(operation: str) -> bool:
    """Whether an operation of that record may be under way elsewhere."""
    stands = codec.decode(operation)
    known = stands["submits"] > 0 or stands["handle"] is not None
    return known and stands["state"] in ("created", "submitted")


@dataclass(frozen=True, slots=True)
class Kept:
    """A checkpoint: JSON text, its place in the body, and how long it has stood, in seconds."""

    value: str
    ordinal: int | None = None
    """None: its place is not compared, since it was not recorded in the body's own task."""
    undo: bool = False
    """Whether something undoes it."""
    age: float = 0.0
    left: float | None = None
    """Seconds until a sleep is over; negative afterwards."""


@dataclass(frozen=True, slots=True)
class Past:
    """What a run has recorded so far. ``spent`` is how many attempts at it were used up, ever."""

    spent: int = 0
    kept: dict[str, Kept] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the ledger: one item of a map, or one operation elsewhere.

    ``item`` and ``handle`` are JSON texts; None leaves what stands there.
    """

    key: str
    no: int
    state: str
    item: str | None = None
    handle: str | None = None
    submits: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A wait: ``kind`` is sleep, signal or question; ``name`` the signal's, or the question."""

    key: str
    ordinal: int | None
    kind: str
    name: str = ""
    seconds: float | None = None
    until: datetime | None = None
    schema: str = "{}"
    """The form of what may come, as JSON text."""
    to: str = ""
    reason: str = ""
    """Why it waits again: what was wrong with what came before."""
    before: str = ""
    """The key of the wait to which that came; a signal is waited for in that one's time."""


@dataclass(frozen=True, slots=True)
class Met:
    """How a wait stands: what came (JSON text), or how many seconds are left."""

    value: str | None = None
    late: bool = False
    """Whether its time was up before anything came."""
    left: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A child that a body wants to have: started once for each key.

    ``step`` is what people see; None for a child that nobody waits for. ``spent`` is how many
    attempts were used up: a child that ended badly in an earlier one is started anew; None: never.
    """

    key: str
    step: str | None
    spent: int | None
    job: str
    args: Mapping[str, Any]
    options: StartOptions = field(default_factory=StartOptions)
    known: int | None = None
    """The run that it is on record as: then nothing is started, it is only looked at."""


@dataclass(frozen=True, slots=True)
class Child:
    """A child as it stands; ``open`` is how many children of the body's run had not ended then.

    None: it is nobody's child, but a run that an idempotency key names.
    """

    run: Run[Any]
    open: int | None
