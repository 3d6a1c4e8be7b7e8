"""The moment somebody takes a lock from a run that should not have it any more.

A lock goes by itself with the end of its run. One that stays is taken away here: from a run that
has ended or is gone at once; from one that goes only by force, and that run is cancelled with it.
No run goes on as the owner of a lock that it no longer has, and none is cancelled but the one that
was named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
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

    lock: str
    runs: tuple[int, ...]
    stopping: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "lock": self.lock,
            "runs": list(map(str, self.runs)),
            "stopping": list(map(str, self.stopping)),
        }


async def unlock(
    db: Database,
    key: str,
    *,
    workspace: str,
    kind: str = "lock",
    run: int | None = None,
    since: datetime | None = None,
    force: bool = False,
    by: str,
    reason: str | None = None,
) -> Unlocked:
    """Take a lock from those who have it, and hand it on.

    ``run``: from this one alone; ``since``: and only if it has had the lock from then on. A run
    that goes keeps its lock, unless ``force``, which wants a run and a reason: then it is
    cancelled, and the lock goes on before the run has stopped. Raises ``NotFound`` where there is
    no such lock, ``Refused`` where nobody has it, and ``Locked`` that names who has.
    """
    if force and not reason:
        raise InvalidArguments("force wants a reason", {"reason": "is missing: force wants one"})
    rows = await db.fetch(LOCK_HOLDERS, workspace, kind, key)
    if not rows:
        raise NotFound(f"there is no {kind} {key!r}; `koken locks` lists them")
    holders = [row for row in rows if row["run_id"] is not None]
    if not holders:
        raise Refused(f"nobody has the {kind} {key!r}", what=key)
    if force and run is None:
        raise InvalidArguments(
            f"say from which run lock {key!r} is taken by force: {named(holders)} has it",
            {"run": "is missing: force wants one"},
        )
    meant = [row for row in holders if is_meant(row, run, since)]
    if not meant:
        raise moved_on(key, run, holders)
    live = [row for row in meant if row["live"]]
    if live and not force:
        raise held(key, live)
    for row in live:
        if not row["cancelling"]:
            why = f"lock {key} was taken from it: {reason}"
            await cancel(db, row["run_id"], by=by, reason=why)
    runs = [row["run_id"] for row in meant]
    freed = await db.fetch(UNLOCK, rows[0]["lock_id"], by, reason, force, runs)
    await grant(db, [rows[0]["lock_id"]])
    taken = {row["run_id"] for row in freed}
    ended = {row["run_id"] for row in live} - taken
    return Unlocked(
        lock=key,
        runs=tuple(sorted(taken | ended)),
        stopping=tuple(row["run_id"] for row in live if row["run_id"] in taken),
    )


def is_meant(row: Row, run: int | None, since: datetime | None) -> bool:
    """Whether it is from this holder that a lock is to be taken."""
    return run is None or (row["run_id"] == run and since in (None, row["granted_at"]))


def named(holders: Sequence[Row]) -> str:
    """``run 7 of lift and 2 more``."""
    first = holders[0]
    run = f"run {first['run_id']}{' of ' + first['job'] if first['job'] else ''}"
    return f"{run} and {len(holders) - 1} more" if len(holders) > 1 else run


def held(key: str, live: Sequence[Row]) -> Locked:
    """What is said of a lock whose holder goes."""
    first = live[0]
    if first["cancelling"]:
        told = f"{named(live)} is asked to end and has it until it has stopped; wait for that"
    else:
        told = f"{named(live)} has it and goes; cancel it, and the lock comes free by itself"
    return Locked(
        f"lock {key!r}: {told}. Force takes it away at once, though the run may still be at work",
        what=key,
        held_by=first["run_id"],
        since=first["granted_at"],
    )


def moved_on(key: str, run: int | None, holders: Sequence[Row]) -> Locked:
    """What is said of a lock that the run that is meant has no more, or not from then on."""
    since = holders[0]["granted_at"]
    return Locked(
        f"lock {key!r} is not what run {run} was seen to have: {named(holders)} has it, since "
        f"{since:%Y-%m-%d %H:%M:%S} UTC. Nothing was done",
        what=key,
        held_by=holders[0]["run_id"],
        since=since,
    )
