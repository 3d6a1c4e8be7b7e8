"""Writes under an idempotency key: the same request again gets the answer of the first one."""

from __future__ import annotations

import json
from dataclasses import dataclass

from koken.errors import InProgress, KeyConflict
from koken.store.database import Database
from koken.store.statements import Statement

BEGIN_ANSWER = Statement("begin_answer")
FORGET_ANSWER = Statement("forget_answer")
KEEP_ANSWER = Statement("keep_answer")
PRUNE_ANSWERED = Statement("prune_answered")
KEPT = 24 * 3600.0
"""Seconds for which an answer is kept."""
GIVEN_UP = 60.0
"""Seconds after which a request that has no answer may be carried out by another."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered."""

    status: int
    body: str
    location: str | None
    needed: tuple[tuple[str, str], ...] = ()
    """The rights that it took: workspaces, and what had to be allowed there."""


async def begin(db: Database, owner: str, key: str, request: bytes) -> Answer | None:
    """Begin a request; the answer, where it was carried out before.

    Raises ``KeyConflict`` when the key belongs to another request, ``InProgress`` while it is being
    carried out.
    """
    while True:
        rows = await db.fetch(BEGIN_ANSWER, owner, key, request, KEPT, GIVEN_UP)
        if rows:
            break
    (row,) = rows
    if row["begun"]:
        return None
    if row["request"] != request:
        raise KeyConflict(
            f"the idempotency key {key!r} belongs to another request; use a new key", what=key
        )
    if row["status"] is None:
        raise InProgress(
            f"the request with the idempotency key {key!r} is being carried out; ask again later",
            what=key,
        )
    needed = tuple((workspace, right) for workspace, right in json.loads(row["needed"]))
    return Answer(row["status"], row["body"], row["location"], needed)


async def keep(db: Database, owner: str, key: str, request: bytes, answer: Answer) -> None:
    """Keep what was answered."""
    needed = json.dumps(answer.needed)
    await db.fetch(
        KEEP_ANSWER, owner, key, request, answer.status, answer.body, answer.location, needed
    )


async def forget(db: Database, owner: str, key: str, request: bytes) -> None:
    """Nothing was done: the key is free again."""
    await db.fetch(FORGET_ANSWER, owner, key, request)


async def prune(db: Database) -> None:
    """Delete answers whose time is over."""
    await db.fetch(PRUNE_ANSWERED, KEPT)
