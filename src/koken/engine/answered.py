"""Writes under an idempotency key: the same request again gets the answer of the first one.

What a request writes is committed together with a mark that it was written. So whoever comes after
a process that has died on its way learns whether anything was done: nothing is carried out twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from koken.errors import InProgress, KeyConflict, OutcomeUnknown
from koken.store.database import LAST, Database, Transaction
from koken.store.statements import Statement

BEGIN_REPLY = Statement("begin_reply")
FORGET_REPLY = Statement("forget_reply")
KEEP_REPLY = Statement("keep_reply")
MARK_REPLY = Statement("mark_reply")
PRUNE_ANSWERED = Statement("prune_answered")
KEPT = 24 * 3600.0
"""Seconds for which an answer is kept."""
GIVEN_UP = 60.0
"""Seconds after which a request that has no answer and wrote nothing may be carried out anew."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered."""

    status: int
    body: str
    location: str | None
    needed: tuple[tuple[str, str], ...] = ()
    """The rights that it took: workspaces, and what had to be allowed there."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """A request under a key, as it was begun."""

    owner: str
    key: str
    request: bytes
    at: datetime
    """Tells it from the same one that is begun anew later."""


async def begin(db: Database, owner: str, key: str, request: bytes) -> Keyed | Reply:
    """Begin a request; its answer, where it was carried out before.

    Raises ``KeyConflict`` when the key belongs to another request, ``InProgress`` while it is being
    carried out, which is given up in as many seconds as that says, and ``OutcomeUnknown`` when it
    has changed something and its answer is lost.
    """
    while True:
        rows = await db.fetch(BEGIN_REPLY, owner, key, request, KEPT, GIVEN_UP)
        if rows:
            break
    (row,) = rows
    if row["begun"]:
        return Keyed(owner, key, request, row["at"])
    if row["request"] != request:
        raise KeyConflict(
            f"the idempotency key {key!r} belongs to another request; use a new key", what=key
        )
    if row["status"] is not None:
        needed = tuple((workspace, right) for workspace, right in json.loads(row["needed"]))
        return Reply(row["status"], row["body"], row["location"], needed)
    if row["wait"] > 0 or not row["written"]:
        raise InProgress(
            f"the request with the idempotency key {key!r} is being carried out; ask again later",
            what=key,
            after=max(row["wait"], 0.0),
        )
    raise OutcomeUnknown(
        f"the request with the idempotency key {key!r} was carried out, at least in part, and its "
        "answer is lost. It is not carried out again: look what has become of it, then ask for "
        "what is still to be done under a new key",
        what=key,
        since=row["at"],
    )


@contextmanager
def carrying(keyed: Keyed) -> Iterator[None]:
    """As long as a request is carried out: what is written here is committed with the mark."""

    async def mark(tx: Transaction) -> None:
        """Raises ``InProgress``, and so undoes it all, where another has begun the request anew."""
        (row,) = await tx.fetch(MARK_REPLY, keyed.owner, keyed.key, keyed.request, keyed.at)
        if row["lost"]:
            raise InProgress(
                f"the request with the idempotency key {keyed.key!r} took so long that it was "
                "begun anew, and is carried out there",
                what=keyed.key,
                after=GIVEN_UP,
            )

    token = LAST.set(mark)
    try:
        yield
    finally:
        LAST.reset(token)


async def keep(db: Database, keyed: Keyed, reply: Reply) -> None:
    """Keep what was answered."""
    await db.fetch(
        KEEP_REPLY,
        keyed.owner,
        keyed.key,
        keyed.request,
        keyed.at,
        reply.status,
        reply.body,
        reply.location,
        json.dumps(reply.needed),
    )


async def forget(db: Database, keyed: Keyed, *, refused: bool) -> None:
    """Free the key again, if nothing was written; else only where the request was ``refused``."""
    await db.fetch(FORGET_REPLY, keyed.owner, keyed.key, keyed.request, keyed.at, refused)


async def prune(db: Database) -> None:
    """Delete answers whose time is over."""
    await db.fetch(PRUNE_ANSWERED, KEPT)
