"""The moment a worker takes runs: from lanes (queue × workspace), as many as it has room for."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model import codec
from koken.model.inputs import NOTHING, Inputs
from koken.model.states import State
from koken.store.database import Database, Row
from koken.store.statements import Statement

CLAIM = Statement("claim")
CLAIM_FROM_BOTTOM = Statement("claim_from_bottom")
CLAIM_LIMITED = Statement("claim_limited")
LIMITED_QUEUES = Statement("limited_queues")
ADOPT = Statement("adopt")
HELD = Statement("held")

Lane = tuple[int, int]
"""A queue's id and a workspace's id."""


@dataclass(slots=True)
class Claimed:
    """A run that this worker holds, as it was when it was taken."""

    id: int
    lease: int
    attempt: int
    max_attempts: int
    infra_attempt: int
    max_infra_attempts: int
    job_id: int
    workspace_id: int
    queue_id: int
    root_id: int | None
    rank: datetime
    priority: int
    subject: str | None
    trigger_kind: str
    trigger_by: str | None
    schedule_id: int | None
    since_at: datetime | None
    logical_at: datetime
    overlap: str | None
    overlap_key: str | None
    seconds_left: float | None
    args: str
    version_id: int
    parent_id: int | None = None
    step_no: int | None = None
    step: str | None = None
    is_step: bool = False
    """Whether it is a step of a workflow, and not one of a step's items."""
    undoes_id: int | None = None
    """The run whose work it undoes."""
    made: int | None = None
    """How many children it has; None: it was not opened yet."""
    reopens: bool = False
    """Whether a person has set its children going again."""
    settle: State | None = None
    """In which state it ends, whatever its body would say."""
    unwind: bool = False
    """Whether there is something to undo, or to cancel elsewhere."""
    cancelling: bool = False
    hooks: bool = False
    """Whether something follows its end."""
    grandparent_id: int | None = None
    inputs: Inputs = NOTHING
    """What it is given, when it is a step or an item."""

    @property
    def is_item(self) -> bool:
        """Whether it is one of a step's items."""
        return self.step_no is not None and not self.is_step and self.undoes_id is None

    @property
    def is_part(self) -> bool:
        """Whether it is part of something, or something is part of it."""
        return (
            self.parent_id is not None
            or self.made is not None
            or self.hooks
            or self.unwind
            or self.settle is not None
        )


@dataclass(frozen=True, slots=True)
class Room:
    """What a worker takes of that which becomes ready by what it does: so many, in these queues."""

    worker_id: int
    queue_ids: Sequence[int]
    slots: int


NO_ROOM = Room(0, (), 0)


def taken(text: str | None) -> list[Claimed]:
    """Runs that a worker was handed as JSON, steps with what they are given."""
    return [handed(plain) for plain in codec.decode(text)] if text is not None else []


def handed(plain: dict[str, Any]) -> Claimed:
    """One run that a worker was handed."""
    given, part = plain.pop("given"), plain.pop("part")
    for name in ("rank", "since_at", "logical_at"):
        plain[name] = plain[name] and datetime.fromisoformat(plain[name])
    run = as_part(Claimed(**plain), part or {})
    if given is not None:
        run.inputs = Inputs(given["arguments"] or {}, given["results"] or {})
    return run


def claimed(rows: Sequence[Row]) -> list[Claimed]:
    """Rows of a claim; the columns stand in the order of the fields, the last one is ``part``."""
    return [
        Claimed(*row[:-1]) if row[-1] is None else as_part(Claimed(*row[:-1]), json.loads(row[-1]))
        for row in rows
    ]


def as_part(run: Claimed, part: Mapping[str, Any]) -> Claimed:
    """``run`` with what it is a part of, or is made of."""
    for name, value in part.items():
        setattr(run, name, value)
    run.settle = None if run.settle is None else State(run.settle)
    return run


async def from_marks(
    db: Database,
    worker_id: int,
    marks: Mapping[Lane, datetime],
    room: Mapping[int, int],
    *,
    skip: Collection[int] = (),
) -> list[Claimed]:
    """Take from lanes that had something before, each from its mark upwards.

    ``room`` is the free slots of each queue; lanes of one queue share them. ``skip`` are jobs that
    the worker's program does not have: their runs are left to others.
    """
    lanes = [lane for lane in marks if room.get(lane[0], 0) > 0]
    if not lanes:
        return []
    shares = shared_out(lanes, room)
    rows = await db.fetch(
        CLAIM,
        worker_id,
        [lane[0] for lane in lanes],
        [lane[1] for lane in lanes],
        [marks[lane] for lane in lanes],
        [shares[lane] for lane in lanes],
        list(skip),
    )
    return claimed(rows)


def shared_out(lanes: Sequence[Lane], room: Mapping[int, int]) -> dict[Lane, int]:
    """How many each lane may give: the room of its queue in equal shares, never more in all."""
    shares: dict[Lane, int] = {}
    for queue_id in {lane[0] for lane in lanes}:
        mine = [lane for lane in lanes if lane[0] == queue_id]
        each, rest = divmod(room[queue_id], len(mine))
        shares |= {lane: each + (place < rest) for place, lane in enumerate(mine)}
    return shares


async def from_bottom(
    db: Database, worker_id: int, room: Mapping[int, int], *, skip: Collection[int] = ()
) -> list[Claimed]:
    """Find the lanes that have something, and take from each its share of the room."""
    queues = [queue_id for queue_id, free in room.items() if free > 0]
    if not queues:
        return []
    free = [room[each] for each in queues]
    rows = await db.fetch(CLAIM_FROM_BOTTOM, worker_id, queues, free, list(skip))
    return claimed(rows)


async def limited_queues(db: Database, queue_ids: Sequence[int]) -> list[int]:
    """Which of these queues have a limit or a rate, and something ready."""
    return [row["id"] for row in await db.fetch(LIMITED_QUEUES, list(queue_ids))]


async def limited(
    db: Database, worker_id: int, queue_id: int, room: int, *, skip: Collection[int] = ()
) -> tuple[int, float]:
    """Take from a queue that has a limit or a rate, under its row's lock.

    Returns how many were taken (``held`` tells which), and in how many seconds its rate has room
    again.
    """
    taken = 0
    again = 0.0
    for row in await db.fetch(CLAIM_LIMITED, queue_id, room, worker_id, list(skip)):
        if row["run_id"] is not None:
            taken += 1
        if row["again_in"] is not None:
            again = row["again_in"]
    return taken, again


async def held(db: Database, worker_id: int) -> list[Claimed]:
    """All that this worker holds by the database's word, known to it or not."""
    return claimed(await db.fetch(ADOPT, worker_id))


async def held_ids(db: Database, worker_id: int) -> set[tuple[int, int]]:
    """As ``held``, but only their ids and leases."""
    return {(row["id"], row["lease"]) for row in await db.fetch(HELD, worker_id)}
