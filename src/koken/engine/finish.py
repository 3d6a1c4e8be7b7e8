"""The moment runs end, park or go back, in batches; each only under its own lease."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from koken.engine.grant import HINT, grant
from koken.model.states import State, WaitCause
from koken.store.database import Database, Row, Transaction
from koken.store.statements import Statement

FINISH = Statement("finish")
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
    delay: float = 0.0
    """Seconds until a waiting run wakes."""
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


async def finish(db: Database, endings: Sequence[Ending]) -> Finished:
    """Move all these runs in one transaction, then hand on their locks.

    May be called again with the same endings when the answer was lost: what stands in the state
    delivered, under the same lease, counts as delivered.
    """
    batch = sorted(endings, key=lambda ending: ending.id)
    closing = {ending.id for ending in batch if ending.closes_failures}

    async def work(tx: Transaction) -> list[Row]:
        rows = await tx.fetch(FINISH, *columns(batch))
        succeeded = [row["id"] for row in rows if row["state"] == State.SUCCEEDED]
        if closing.intersection(succeeded):
            await tx.fetch(ACKNOWLEDGE_BEFORE, [each for each in succeeded if each in closing])
        return rows

    rows = await db.run(work, alone=not closing)
    done = Finished(moved={row["id"]: State(row["state"]) for row in rows})
    if len(rows) < len(batch):
        await judge(db, [each for each in batch if each.id not in done.moved], done)
    ready = {row["queue_id"] for row in rows if row["state"] == State.READY}
    if ready:
        await db.fetch(HINT, list(ready))
    if rows and rows[0]["lock_ids"]:
        done.ready_queues = await grant(db, rows[0]["lock_ids"])
    return done


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
