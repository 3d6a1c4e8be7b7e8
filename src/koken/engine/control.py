"""What people tell runs to do; each leaves an event with who and why."""

from __future__ import annotations

from dataclasses import dataclass

from koken.engine.grant import pass_on
from koken.engine.parts import stop_children
from koken.errors import Refused
from koken.store.database import Database
from koken.store.statements import Statement

CANCEL = Statement("cancel")
ACKNOWLEDGE = Statement("acknowledge")


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What a cancel came to."""

    verdict: str
    """``ended``, ``asked``, or ``over`` when the run had ended before."""


async def cancel(db: Database, run_id: int, *, by: str, reason: str | None) -> Cancelled:
    """End a run for good, with all that is below it.

    What no worker carries ends at once. The rest is asked: workers stop what runs, and undo what
    is to be undone; the run ends when they have confirmed it.
    """
    (row,) = await db.fetch(CANCEL, run_id, by, reason)
    await pass_on(db, row)
    if row["verdict"] == "asked":
        await stop_children(db, [run_id], reason or f"cancelled by {by}")
    return Cancelled(row["verdict"])


async def acknowledge(db: Database, run_id: int, *, by: str, reason: str | None) -> None:
    """A person has seen the failure: it is closed, and skip_if_failed opens again.

    Raises ``Refused`` when the run has not failed, or somebody did so before.
    """
    if not await db.fetch(ACKNOWLEDGE, run_id, by, reason):
        raise Refused(
            f"run {run_id} is no open failure: it did not fail, or it is acknowledged",
            what=f"run {run_id}",
        )
