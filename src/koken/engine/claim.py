"""The moment a worker takes runs: from lanes (queue × workspace), as many as it has room for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

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


def claimed(rows: Sequence[Row]) -> list[Claimed]:
    """Rows of a claim; the columns stand in the order of the fields."""
    return [Claimed(*row) for row in rows]


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
