"""The moments while a body goes: what it keeps, prints and shows, in batches, under its lease."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from koken.model.durable import Entry, Kept, Past
from koken.store.database import Database, Transaction
from koken.store.statements import Statement

KEEP_CHECKPOINTS = Statement("keep_checkpoints")
KEEP_LEDGER = Statement("keep_ledger")
MARK_UNWIND = Statement("mark_unwind")
CHECKPOINTS = Statement("checkpoints")
LOG = Statement("log")
PROGRESS = Statement("progress")
USE = Statement("use")


@dataclass(slots=True)
class Keeping:
    """A value to keep: JSON text under a key, and lines of the ledger that go with it."""

    run_id: int
    lease: int
    key: str
    value: str
    overwrite: bool
    ordinal: int | None = None
    undo: bool = False
    entries: Sequence[Entry] = ()
    unwind: bool = False
    """Whether its run has something to clean up from now on when it does not end well."""
    of: int = 0
    """The run whose record it is: another one where it undoes what that has done; 0: the same."""

    def __post_init__(self) -> None:
        self.of = self.of or self.run_id

    @property
    def plain(self) -> bool:
        """Whether it is a checkpoint and nothing else."""
        return not (self.undo or self.unwind or self.entries)


@dataclass(slots=True)
class Line:
    """A line of a run's log; ``at`` is seconds on the worker's own clock."""

    run_id: int
    lease: int
    at: float
    level: str
    stream: str
    text: str


@dataclass(slots=True)
class Showing:
    """How far a run is."""

    run_id: int
    lease: int
    percent: int
    message: str


@dataclass(slots=True)
class Usage:
    """What the processes of an attempt took."""

    run_id: int
    lease: int
    peak_bytes: int
    cpu_seconds: float


async def record(
    db: Database,
    keepings: Sequence[Keeping],
    lines: Sequence[Line],
    showings: Sequence[Showing],
    *,
    clock: float,
) -> dict[tuple[int, str], str]:
    """Write all of it in one commit; ``clock`` is now, on the clock of the lines.

    Returns what now stands, by the run whose record it is and the key, for each keeping whose
    lease still holds.
    """

    async def work(tx: Transaction) -> dict[tuple[int, str], str]:
        if lines:
            await tx.fetch(LOG, *line_columns(lines, clock))
        if showings:
            await tx.fetch(
                PROGRESS,
                [each.run_id for each in showings],
                [each.lease for each in showings],
                [each.percent for each in showings],
                [each.message for each in showings],
            )
        return await keep(tx, keepings) if keepings else {}

    alone = bool(keepings) + bool(lines) + bool(showings) == 1
    return await db.run(work, alone=alone and all(each.plain for each in keepings))


async def use(db: Database, usages: Sequence[Usage]) -> None:
    """Keep what attempts took, also of those that have ended; more than before counts."""
    await db.fetch(
        USE,
        [each.run_id for each in usages],
        [each.lease for each in usages],
        [each.peak_bytes for each in usages],
        [each.cpu_seconds for each in usages],
    )


async def keep(tx: Transaction, keepings: Sequence[Keeping]) -> dict[tuple[int, str], str]:
    """Keep values; of two for one key the later counts where it may overwrite, else the earlier."""
    latest: dict[tuple[int, str], Keeping] = {}
    for each in keepings:
        if each.overwrite or (each.of, each.key) not in latest:
            latest[each.of, each.key] = each
    batch = list(latest.values())
    rows = await tx.fetch(
        KEEP_CHECKPOINTS,
        [each.run_id for each in batch],
        [each.lease for each in batch],
        [each.key for each in batch],
        [each.value for each in batch],
        [each.overwrite for each in batch],
        [each.ordinal for each in batch],
        [each.undo or None for each in batch],
        [each.of for each in batch],
    )
    await keep_along(tx, [each for each in keepings if not each.plain])
    return {(row["run_id"], row["key"]): row["value"] for row in rows}


async def keep_along(tx: Transaction, keepings: Sequence[Keeping]) -> None:
    """What some values bring with them: marks of their runs, lines of the ledger."""
    marked = {(each.run_id, each.lease) for each in keepings if each.undo or each.unwind}
    if marked:
        ids, leases = zip(*sorted(marked), strict=True)
        await tx.fetch(MARK_UNWIND, list(ids), list(leases))
    lines = {
        (each.run_id, each.lease, each.of, entry.key, entry.no): entry
        for each in keepings
        for entry in each.entries
    }
    if lines:
        entries = list(lines.values())
        await tx.fetch(
            KEEP_LEDGER,
            [run_id for run_id, *_ in lines],
            [lease for _, lease, *_ in lines],
            [of for _, _, of, *_ in lines],
            [entry.key for entry in entries],
            [entry.no for entry in entries],
            [entry.state for entry in entries],
            [entry.item for entry in entries],
            [entry.handle for entry in entries],
            [entry.submits for entry in entries],
            [entry.error for entry in entries],
        )


def line_columns(lines: Sequence[Line], clock: float) -> tuple[list[object], ...]:
    """The lines as the statement's arrays; the clock becomes an age."""
    return (
        [each.run_id for each in lines],
        [each.lease for each in lines],
        [max(clock - each.at, 0.0) for each in lines],
        [each.level for each in lines],
        [each.stream for each in lines],
        [each.text for each in lines],
    )


async def checkpoints(db: Database, run_id: int) -> Past:
    """All that the run has recorded so far."""
    rows = await db.fetch(CHECKPOINTS, run_id)
    kept = {
        row["key"]: Kept(row["value"], row["ordinal"], row["undo"], row["age"], row["left"])
        for row in rows
        if row["key"] is not None
    }
    return Past(rows[0]["spent"], kept)
