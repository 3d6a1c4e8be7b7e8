"""Browsers that people have signed in with."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from koken.engine import events
from koken.engine.access import user_for_change
from koken.engine.holds import Holds
from koken.errors import NotFound
from koken.model.credentials import hashed
from koken.store.database import Database, Transaction
from koken.store.statements import Statement

MAKE_SESSION = Statement("make_session")
END_SESSION = Statement("end_session")
END_SESSIONS = Statement("end_sessions")
NOTE_SEEN = Statement("note_seen")


@dataclass(frozen=True, slots=True)
class Ended:
    """How many sessions of somebody were ended."""

    user: str
    ended: int

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"user": self.user, "ended": self.ended}


async def open_session(
    db: Database,
    user_id: int,
    *,
    password: str | None,
    seconds: float,
    address: str,
    agent: str,
    instead: str = "",
) -> str | None:
    """Sign somebody in; returns what their browser keeps, which is nowhere else.

    ``password`` is the hash that theirs was compared with; None where an issuer vouches for them.
    None where it is another one by now, or somebody has disabled them. ``instead`` is what the
    browser kept before: that is good no more.
    """
    kept = secrets.token_urlsafe(32)
    place = (address[:100], agent[:300])

    async def work(tx: Transaction) -> str | None:
        if not await tx.fetch(MAKE_SESSION, hashed(kept), user_id, seconds, *place, password):
            return None
        await tx.fetch(END_SESSION, hashed(instead))
        return kept

    return await db.run(work)


async def close_session(db: Database, digest: bytes) -> None:
    """Sign out."""
    await db.fetch(END_SESSION, digest)


async def end(
    db: Database,
    user: str,
    session: str = "",
    *,
    keep: bytes = b"",
    holds: Holds = None,
    by: str,
    reason: str | None,
) -> Ended:
    """End a session of somebody, by its id; without one, all but ``keep``.

    Raises ``NotFound`` where there is no such user or session, and ``Forbidden`` where they may
    do more than who acts administers.
    """

    async def work(tx: Transaction) -> Ended:
        whose = await user_for_change(tx, user, holds)
        gone = await tx.fetch(END_SESSIONS, whose["id"], session, keep)
        ended = Ended(whose["name"], len(gone))
        if session and not gone:
            raise NotFound(f"{ended.user} has no session {session}; it may have ended")
        if gone:
            await events.record(tx, "end session", by, reason=reason, detail=ended.to_json())
        return ended

    return await db.run(work)


async def note_seen(db: Database, digest: bytes) -> None:
    """Write down that somebody is here."""
    await db.fetch(NOTE_SEEN, digest)
