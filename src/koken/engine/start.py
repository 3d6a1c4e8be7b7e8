"""The moment a run begins to exist: one call of one function in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from koken.engine.grant import grant
from koken.model import codec
from koken.model.job import StartOptions
from koken.model.runparts import TriggerKind
from koken.store.database import Database, Transaction
from koken.store.statements import Statement

START = Statement("start")
START_MANY = Statement("start_many")
WAITING_LOCKS = Statement("waiting_locks")


@dataclass(frozen=True, slots=True)
class Started:
    """What a start came to: ``verdict`` is started, existing or skipped."""

    run_id: int
    verdict: str


def parameters(
    job: str,
    args: Mapping[str, Any],
    workspace: str,
    options: StartOptions,
    by: str,
    *,
    program: bool = False,
) -> tuple[Any, ...]:
    """The arguments of the start, in the order of the statement."""
    return (
        job,
        codec.encode(args, name="the arguments"),
        workspace,
        options.run_at,
        options.delay,
        options.priority,
        options.queue,
        options.idempotency_key,
        options.overlap,
        options.logical_time,
        kind_of(by, program),
        by or None,
    )


def kind_of(by: str, program: bool) -> str:
    """What a start is known by: a program, or somebody who says who they are."""
    return (TriggerKind.API if program or not by else TriggerKind.USER).value


async def start(
    db: Database,
    job: str,
    args: Mapping[str, Any],
    *,
    workspace: str,
    options: StartOptions,
    by: str,
    program: bool = False,
) -> Started:
    """Start a run, or find the one that the idempotency key names.

    ``program``: who starts it is one, such as by a token. Raises ``NotFound``,
    ``InvalidArguments``, ``KeyConflict``, ``Locked`` or ``Overlapping``.
    """
    given = parameters(job, args, workspace, options, by, program=program)
    (row,) = await db.fetch(START, *given)
    if row["in_line"]:
        await take_locks(db, row["run_id"])
    return Started(row["run_id"], row["verdict"])


async def take_locks(db: Database, run_id: int) -> None:
    """Grant at once what is free; the sweep does so for starts in callers' transactions."""
    rows = await db.fetch(WAITING_LOCKS, [run_id])
    await grant(db, [row["lock_id"] for row in rows])


async def start_many(
    db: Database,
    job: str,
    rows: Sequence[str],
    *,
    workspace: str,
    options: StartOptions,
    by: str,
    program: bool = False,
) -> list[int]:
    """Start one run for each of the JSON texts in ``rows``; all of them or none.

    Returns their ids in order. Raises as ``start`` does.
    """

    async def work(tx: Transaction) -> list[int]:
        found = await tx.fetch(
            START_MANY,
            job,
            rows,
            workspace,
            options.run_at,
            options.delay,
            options.priority,
            options.queue,
            options.overlap,
            kind_of(by, program),
            by or None,
        )
        return [row[0] for row in found]

    return await db.run(work, alone=True)
