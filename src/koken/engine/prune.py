"""The moment old history goes: ended runs in batches, log lines by whole partitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from koken.engine import answered
from koken.model.logdays import DAYS_AHEAD
from koken.model.logdays import partition as name
from koken.store.database import Database
from koken.store.statements import Statement, quoted

PRUNE = Statement("prune")
PRUNE_TICKS = Statement("prune_ticks")
PRUNE_EVENTS = Statement("prune_events")
PRUNE_BULKS = Statement("prune_bulks")
PRUNE_LOCKS = Statement("prune_locks")
PRUNE_WORKERS = Statement("prune_workers")
PRUNE_STRAY_LINES = Statement("prune_stray_lines")
LOG_PARTITIONS = Statement("log_partitions")
MOVE_CURSOR = Statement("move_cursor")
NOW = Statement("now")
PAGE = 5000


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many runs went (or would go), and where the walk stands; 0 after a whole round."""

    runs: int
    cursor: int


async def prune(
    db: Database,
    keep: Mapping[str, float],
    *,
    cursor: int = 0,
    pages: int = 20,
    dry_run: bool = False,
) -> Pruned:
    """Delete ended runs whose time is over, ``pages`` × 5,000 ids from ``cursor`` upwards.

    ``keep`` is seconds by outcome; a job's or a workspace's own rule wins. The last run of a job
    and its last success stay. Raises nothing of its own.
    """
    gone = 0
    rule = json.dumps(dict(keep))
    for _ in range(pages):
        (row,) = await db.fetch(PRUNE, cursor, PAGE, rule, dry_run)
        gone += row["pruned"]
        if row["cursor"] is None:
            return Pruned(gone, 0)
        cursor = row["cursor"]
    return Pruned(gone, cursor)


async def prune_rest(db: Database, keep: Mapping[str, float]) -> None:
    """Delete old ticks, events and answers, bulks and workers of long ago, locks nobody wants."""
    await db.fetch(PRUNE_TICKS, keep["ticks"])
    await db.fetch(PRUNE_EVENTS, keep["events"])
    await db.fetch(PRUNE_BULKS, keep["events"])
    await db.fetch(PRUNE_LOCKS)
    await answered.prune(db)
    await db.fetch(PRUNE_WORKERS)


async def move_cursor(db: Database, chore: str, cursor: int) -> None:
    """Remember where a walk stands."""
    await db.fetch(MOVE_CURSOR, chore, cursor)


async def partition(db: Database, keep: Mapping[str, float]) -> None:
    """Make the log's partitions of the coming days, drop those whose time is over."""
    now: datetime = (await db.fetch(NOW))[0]["now"]
    today = now.date()
    existing = {row["name"] for row in await db.fetch(LOG_PARTITIONS)}
    for ahead in range(DAYS_AHEAD + 1):
        day = today + timedelta(days=ahead)
        if name(day) not in existing:
            await make(db, day)
    await db.fetch(PRUNE_STRAY_LINES, keep["logs"])
    oldest = today - timedelta(seconds=keep["logs"])
    for each in sorted(existing):
        if each < name(oldest):
            await drop(db, each)


async def make(db: Database, day: date) -> None:
    """A partition for ``day``; lines that the default one took meanwhile move into it.

    Writers and readers wait at the door for this moment: who had chosen the default partition
    already would be refused by it, or would not find there what has just moved.
    """
    table = f"koken.{name(day)}"
    after = day + timedelta(days=1)
    async with db.transaction() as tx:
        await tx.execute(
            "lock table koken.log_line in access exclusive mode;"
            f"create table {table} (like koken.log_line);"
            "with moved as (delete from koken.log_line_other"
            f" where at >= '{day}+00' and at < '{after}+00' returning *)"
            f" insert into {table} select * from moved;"
            f"alter table koken.log_line attach partition {table}"
            f" for values from ('{day}+00') to ('{after}+00')"
        )


async def drop(db: Database, partition_name: str) -> None:
    """Detach a partition without stopping its table's writers for long, then drop it."""
    async with db.transaction() as tx:
        table = f"koken.{quoted(partition_name)}"
        await tx.execute(f"alter table koken.log_line detach partition {table}; drop table {table}")
