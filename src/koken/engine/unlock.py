"""The moment somebody takes a lock from a run that should not have it any more.

A lock goes by itself with the end of its run. One that stays is taken away here: from a run that
has ended or is gone at once; from one that goes only by force, and that run is cancelled with it.
No run goes on as the owner of a lock that it no longer has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from koken.engine.control import cancel
from koken.engine.grant import grant
from koken.errors import InvalidArguments, Locked, NotFound, Refused
from koken.store.database import Database, Row
from koken.store.statements import Statement

LOCK_HOLDERS = Statement("lock_holders")
UNLOCK = Statement("unlock")


@dataclass(frozen=True, slots=True)
class Unlocked:
    """From which runs a lock was taken, and which of them were asked to end and still go."""

    runs: tuple[int, ...]
    stopping: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"runs": list(map(str, self.runs)), "stopping": list(map(str, self.stopping))}


async def unlock(
    db: Database,
    key: str,
    *,
    workspace: str,
    kind: str = "lock",
    force: bool = False,
    by: str,
    reason: str | None = None,
) -> Unlocked:
    """Take a lock from those who have it, and hand it on.

    A run that goes keeps its lock, unless ``force``, which wants a reason: then it is cancelled,
    and the lock goes on before the run has stopped. Raises ``NotFound`` where there is no such
    lock, ``Refused`` where nobody has it, and ``Locked`` that names who has.
    """
    if force and not reason:
        raise InvalidArguments("force wants a reason", {"reason": "is missing: force wants one"})
    rows = await db.fetch(LOCK_HOLDERS, workspace, kind, key)
    if not rows:
        raise NotFound(f"there is no {kind} {key!r}; `koken locks` lists them")
    holders = [row for row in rows if row["run_id"] is not None]
    if not holders:
        raise Refused(f"nobody has the {kind} {key!r}", what=key)
    live = [row for row in holders if row["live"]]
    if live and not force:
        raise held(key, live)
    for row in live:
        if not row["cancelling"]:
            why = f"lock {key} was taken from it: {reason}"
            await cancel(db, row["run_id"], by=by, reason=why)
    freed = await db.fetch(UNLOCK, rows[0]["lock_id"], by, reason, force)
    await grant(db, [rows[0]["lock_id"]])
    taken = {row["run_id"] for row in freed}
    ended = {row["run_id"] for row in live} - taken
    return Unlocked(
        runs=tuple(sorted(taken | ended)),
        stopping=tuple(row["run_id"] for row in live if row["run_id"] in taken),
    )


def held(key: str, live: Sequence[Row]) -> Locked:
    """What is said of a lock whose holder goes."""
    first = live[0]
    run = f"run {first['run_id']} of {first['job']}"
    more = f" and {len(live) - 1} more" if len(live) > 1 else ""
    if first["cancelling"]:
        told = f"{run}{more} is asked to end and has it until it has stopped; wait for that"
    else:
        told = f"{run}{more} has it and goes; cancel it, and the lock comes free by itself"
    return Locked(
        f"lock {key!r}: {told}. Force takes it away at once, though the run may still be at work",
        what=key,
        held_by=first["run_id"],
        since=first["granted_at"],
    )
