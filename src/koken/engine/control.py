"""What people tell runs to do; each leaves an event with who and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from koken.engine.grant import grant
from koken.engine.start import take_locks
from koken.errors import Refused
from koken.model.states import State
from koken.store.database import Database
from koken.store.statements import Statement

CANCEL = Statement("cancel")
RETRY = Statement("retry")
ACKNOWLEDGE = Statement("acknowledge")


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What a cancel came to: which runs have ended, and which were asked to stop."""

    ended: tuple[int, ...]
    asked: tuple[int, ...]


async def cancel(db: Database, run_ids: Sequence[int], *, by: str, reason: str | None) -> Cancelled:
    """End what no worker carries at once; ask the workers of the rest, which confirm the end."""
    (row,) = await db.fetch(CANCEL, list(run_ids), by, reason)
    await grant(db, row["lock_ids"] or [])
    return Cancelled(tuple(row["ended"] or ()), tuple(row["asked"] or ()))


async def retry(
    db: Database, run_id: int, *, by: str, reason: str | None, args: str | None = None
) -> State:
    """Give an ended run another chance: attempts count from 1 again, checkpoints stay.

    ``args`` is JSON text that replaces the arguments. Raises ``NotFound``, ``Refused``,
    ``Overlapping``, ``Locked``.
    """
    (row,) = await db.fetch(RETRY, run_id, by, reason, args)
    await take_locks(db, run_id)
    return State(row["state"])


async def acknowledge(db: Database, run_id: int, *, by: str, reason: str | None) -> None:
    """A person has seen the failure: it is closed, and skip_if_failed opens again.

    Raises ``Refused`` when the run has not failed, or somebody did so before.
    """
    if not await db.fetch(ACKNOWLEDGE, run_id, by, reason):
        raise Refused(
            f"run {run_id} is no open failure: it did not fail, or it is acknowledged",
            what=f"run {run_id}",
        )
