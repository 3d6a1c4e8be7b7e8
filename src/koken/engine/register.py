"""The moments of a worker's own life: it registers, beats, drains and leaves."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from koken.store.database import Database, Transaction
from koken.store.statements import Statement

RELEASE = version("koken")
REGISTER = Statement("register")
BEAT = Statement("beat")
DRAIN = Statement("drain")
LEAVE = Statement("leave")
HUNGRY = Statement("hungry")
QUEUE_IDS = Statement("queue_ids")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a worker tells of itself; the database's number is what counts."""

    name: str
    host: str
    pid: int
    app: str
    version: str


def label_of(app: str, name: str = "") -> Label:
    """The label of this process, which carries the jobs of ``app``."""
    host, pid = socket.gethostname(), os.getpid()
    return Label(name=name or f"{host}-{pid}", host=host, pid=pid, app=app, version=RELEASE)


async def register(db: Database, label: Label, queues: Mapping[str, int]) -> int:
    """A new worker's number, never used before."""
    rows = await db.fetch(
        REGISTER,
        label.name,
        label.host,
        label.pid,
        label.app,
        label.version,
        json.dumps(dict(queues)),
        sum(queues.values()),
    )
    return int(rows[0]["id"])


async def queue_ids(db: Database, names: Mapping[str, int]) -> dict[str, int]:
    """The numbers of queues; a name that nobody used yet gets one."""
    rows = await db.fetch(QUEUE_IDS, list(names))
    return {row["name"]: row["id"] for row in rows}


async def beat(
    tx: Transaction, worker_id: int, busy: int, hungry: Sequence[int] = ()
) -> list[int] | None:
    """Say that the worker lives; returns the runs to cancel, or None when it counts as lost.

    ``hungry`` are the queues of which it wants to be told.
    """
    rows = await tx.fetch(BEAT, worker_id, busy, list(hungry))
    return list(rows[0]["cancels"]) if rows else None


async def drain(db: Database, worker_id: int) -> None:
    """Say that the worker takes no more."""
    await db.fetch(DRAIN, worker_id)


async def leave(db: Database, worker_id: int) -> None:
    """Say good-bye; what it still holds is taken over at once."""
    await db.fetch(LEAVE, worker_id)


async def hungry(db: Database, queue_ids: list[int]) -> None:
    """Ask to be told when something becomes ready in these queues."""
    await db.fetch(HUNGRY, queue_ids)
