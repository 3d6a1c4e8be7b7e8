"""What people tell runs, schedules and queues to do; each leaves an event with who and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import EllipsisType
from typing import Any

from koken.engine.grant import grant
from koken.engine.start import take_locks
from koken.errors import NotFound, Refused
from koken.model.firing import SKIPPED
from koken.model.schedule import Catchup, Schedule
from koken.model.states import State
from koken.store.database import Database, Transaction
from koken.store.statements import Statement

CANCEL = Statement("cancel")
RETRY = Statement("retry")
ACKNOWLEDGE = Statement("acknowledge")
QUEUE_IDS = Statement("queue_ids")
SET_QUEUE = Statement("set_queue")
PAUSE_QUEUE = Statement("pause_queue")
PAUSE_SCHEDULES = Statement("pause_schedules")
PAUSED_SCHEDULES = Statement("paused_schedules")
RESUME_SCHEDULES = Statement("resume_schedules")
RECORD_EVENT = Statement("record_event")
FIRE = Statement("fire")
MOVE_SCHEDULES = Statement("move_schedules")
NOW = Statement("now")
NO_WORKSPACE = 2
"""GLOBAL, where events belong that concern no workspace."""


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


async def set_queue(
    db: Database,
    name: str,
    *,
    limit: int | EllipsisType | None = ...,
    rate: float | EllipsisType | None = ...,
    burst: int = 1,
    by: str,
    reason: str | None,
) -> None:
    """Set how many runs of a queue go at once, and how many start a second; None for no limit."""
    await db.fetch(QUEUE_IDS, [name])  # makes it, where nobody has used it yet
    await db.fetch(
        SET_QUEUE,
        name,
        limit is not ...,
        None if limit is ... else limit,
        rate is not ...,
        None if rate is ... else rate,
        burst,
        by,
        reason,
    )


async def pause_queue(
    db: Database, name: str, *, paused: bool, by: str, reason: str | None
) -> None:
    """Stop or resume handing out runs of a queue; what runs goes on. Raises ``NotFound``."""
    if not await db.fetch(PAUSE_QUEUE, name, paused, by, reason):
        raise NotFound(f"there is no queue {name!r}; `koken queues` lists them")


async def pause_schedules(
    db: Database, job: str, *, workspace: str, by: str, reason: str | None
) -> int:
    """Stop the schedules of a job in a workspace; returns how many were going."""
    return len(await db.fetch(PAUSE_SCHEDULES, job, workspace, by, reason))


async def resume_schedules(
    db: Database, job: str, *, workspace: str, by: str, reason: str | None
) -> int:
    """Let the schedules of a job in a workspace fire again; returns how many were paused.

    What fell due meanwhile is recorded as skipped, in one tick; it is made up for only where the
    schedule asks for that by ``catchup`` ``all`` or ``coalesce``.
    """

    async def work(tx: Transaction) -> int:
        rows = await tx.fetch(PAUSED_SCHEDULES, job, workspace)
        now: datetime = (await tx.fetch(NOW))[0]["now"]
        for row in rows:
            await pass_over(tx, row, now)
        await tx.fetch(RESUME_SCHEDULES, [row["id"] for row in rows], by, reason)
        return len(rows)

    return await db.run(work)


async def pass_over(tx: Transaction, row: Mapping[str, Any], now: datetime) -> None:
    """Record what a pause has skipped, and go on from now."""
    schedule = Schedule.from_json(json.loads(row["declared"]))
    if schedule.catchup in (Catchup.ALL, Catchup.COALESCE):
        return
    due = schedule.due_between(row["cursor_at"], now, 10_000)
    if due:
        why = f"paused by {row['paused_by']} since {row['paused_at']:%Y-%m-%d %H:%M} UTC"
        await tx.fetch(
            FIRE,
            [row["id"]],
            [due[0]],
            [due[-1]],
            [len(due)],
            [None],
            [SKIPPED],
            [why],
            ["{}"],
            [0.0],
        )
    await tx.fetch(MOVE_SCHEDULES, [row["id"]], [schedule.next_after(now)], [now], [None])


async def record(
    tx: Transaction,
    verb: str,
    by: str,
    *,
    reason: str | None = None,
    run_id: int | None = None,
    job_id: int | None = None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Write an event."""
    await tx.fetch(
        RECORD_EVENT, NO_WORKSPACE, verb, by, reason, run_id, job_id, json.dumps(dict(detail or {}))
    )
