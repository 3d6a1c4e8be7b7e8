"""The moment runs end, park or go back, in batches; each only under its own lease."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from koken.engine.claim import NO_ROOM, Claimed, Room, taken
from koken.engine.grant import pass_on
from koken.engine.parts import stop_children
from koken.model.states import State, WaitCause
from koken.store.database import Database, Row, Transaction
from koken.store.statements import Statement

FINISH = Statement("finish")
FINISH_PARTS = Statement("finish_parts")
STANDING = Statement("standing")
ACKNOWLEDGE_BEFORE = Statement("acknowledge_before")

SPENDS_ATTEMPT = "attempt"
SPENDS_INFRA = "infra"
SPENDS_NOTHING = "nothing"


@dataclass(slots=True)
class Ending:
    """What becomes of a run whose body has answered."""

    id: int
    lease: int
    state: State
    outcome: str = "succeeded"
    """How the try went, for its record."""
    spent: str = SPENDS_ATTEMPT
    wait_cause: WaitCause | None = None
    delay: float | None = 0.0
    """Seconds until a waiting run wakes; None: what it waits for wakes it, and nothing else."""
    wait_for: str | None = None
    """What exactly it waits for: a signal, a question, a child."""
    wake_below: int | None = None
    """A run that waits for children wakes when no more than so many are open."""
    unwind: bool = False
    """Whether there is something to undo, or to cancel elsewhere, when it does not end well."""
    settle: State | None = None
    """The state that it ends in, when it does not end here."""
    part: bool = False
    """Whether it is part of something, or something is part of it."""

    @classmethod
    def of(cls, run: Claimed, state: State, *args: Any, **others: Any) -> Ending:
        """What becomes of ``run``."""
        others.setdefault("part", run.is_part)
        return cls(run.id, run.lease, state, *args, **others)

    result: str | None = None
    error: str | None = None
    closes_failures: bool = False
    """Whether its success closes earlier failures of its job or key."""


@dataclass(slots=True)
class Finished:
    """What a batch came to: which runs moved, and to where; the rest were not ours any more, or
    had been delivered before."""

    moved: dict[int, State] = field(default_factory=dict)
    delivered_before: set[int] = field(default_factory=set)
    stale: set[int] = field(default_factory=set)
    ready_queues: set[int] = field(default_factory=set)
    taken: list[Claimed] = field(default_factory=list)
    """What became ready by it and goes on with the same worker at once."""


async def finish(db: Database, endings: Sequence[Ending], room: Room = NO_ROOM) -> Finished:
    """Move all these runs, each kind in one transaction, then hand on their locks.

    ``room`` is what the worker takes at once of what becomes ready.

    May be called again with the same endings when the answer was lost: what stands in the state
    delivered, under the same lease, counts as delivered.
    """
    batch = sorted(endings, key=lambda ending: ending.id)
    done = Finished()
    whole = [ending for ending in batch if not ending.part]
    parts = [ending for ending in batch if ending.part]
    if whole:
        await finish_whole(db, whole, done)
    if parts:
        await finish_parts(db, parts, room, done)
    missing = [each for each in batch if each.id not in done.moved]
    if missing:
        await judge(db, missing, done)
    return done


async def finish_whole(db: Database, batch: Sequence[Ending], done: Finished) -> None:
    """Runs on which nothing hangs."""
    rows = await in_one(db, batch, FINISH, columns(batch))
    done.moved |= {row["id"]: State(row["state"]) for row in rows}
    lock_ids = rows[0]["lock_ids"] if rows else None
    ready = {row["queue_id"] for row in rows if row["state"] == State.READY}
    done.ready_queues |= await pass_on(db, {"queue_ids": ready, "lock_ids": lock_ids})


async def finish_parts(db: Database, batch: Sequence[Ending], room: Room, done: Finished) -> None:
    """Runs that are part of something: their followers and parents move with them."""
    more = (
        [each.wait_for for each in batch],
        [each.wake_below for each in batch],
        [each.unwind for each in batch],
        [each.settle for each in batch],
        room.worker_id,
        list(room.queue_ids),
        room.slots,
    )
    (row,) = await in_one(db, batch, FINISH_PARTS, (*columns(batch), *more))
    states = (State(state) for state in row["states"] or ())
    done.moved |= dict(zip(row["ids"] or (), states, strict=True))
    done.taken = taken(row["taken"])
    done.ready_queues |= await pass_on(db, row)
    if row["stopping"]:
        await stop_children(db, row["stopping"], "the run that started it has ended")


async def in_one(
    db: Database, batch: Sequence[Ending], statement: Statement, arguments: Sequence[object]
) -> list[Row]:
    """The rows of ``statement``; earlier failures that a success closes are closed with it."""
    closing = [each.id for each in batch if each.closes_failures]

    async def work(tx: Transaction) -> list[Row]:
        rows = await tx.fetch(statement, *arguments)
        if closing:
            await tx.fetch(ACKNOWLEDGE_BEFORE, closing)
        return rows

    return await db.run(work, alone=not closing)


def columns(batch: Sequence[Ending]) -> tuple[list[object], ...]:
    """The batch as the statement's arrays."""
    return (
        [each.id for each in batch],
        [each.lease for each in batch],
        [each.state.value for each in batch],
        [each.wait_cause.value if each.wait_cause else None for each in batch],
        [each.delay for each in batch],
        [each.spent for each in batch],
        [each.result for each in batch],
        [each.error for each in batch],
        [each.outcome for each in batch],
    )


async def judge(db: Database, missing: Sequence[Ending], done: Finished) -> None:
    """Tell apart what was delivered before from what was taken from us."""
    rows = await db.fetch(STANDING, [each.id for each in missing])
    standing = {row["id"]: (row["lease"], row["state"]) for row in rows}
    for each in missing:
        found = standing.get(each.id)
        if found == (each.lease, each.state.value):
            done.delivered_before.add(each.id)
        else:
            done.stale.add(each.id)
