"""Browsers that people have signed in with, and the sign-ins that failed."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network

from koken.engine import events
from koken.engine.access import Holds, user_for_change
from koken.errors import NotFound, TooMany
from koken.store.database import Database, Transaction
from koken.store.statements import Statement

MAKE_SESSION = Statement("make_session")
END_SESSION = Statement("end_session")
END_SESSIONS = Statement("end_sessions")
NOTE_SEEN = Statement("note_seen")
LOCK_TRIES = Statement("lock_tries")
COUNT_TRIES = Statement("count_tries")
NOTE_TRIES = Statement("note_tries")
FORGIVE_TRIES = Statement("forgive_tries")
VOUCHED_USER = Statement("vouched_user")
ADD_VOUCHED_USER = Statement("add_vouched_user")
GIVE_VOUCHED_ROLES = Statement("give_vouched_roles")
WINDOW = 900.0
"""Seconds for which a failed sign-in counts."""
PER_NAME, PER_ADDRESS = 5, 20
"""Failed sign-ins in that time, before nobody is let try under that name or from there."""


async def open_session(
    db: Database, user_id: int, *, seconds: float, address: str, agent: str, instead: str = ""
) -> str:
    """Sign somebody in; returns what their browser keeps, which is nowhere else.

    ``instead`` is what it kept before: that is good no more.
    """
    kept = secrets.token_urlsafe(32)

    async def work(tx: Transaction) -> None:
        await tx.fetch(END_SESSION, hashed(instead))
        await tx.fetch(MAKE_SESSION, hashed(kept), user_id, seconds, address[:100], agent[:300])

    await db.run(work)
    return kept


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
) -> int:
    """End a session of somebody, by its id; without one, all but ``keep``. Returns how many.

    Raises ``NotFound`` where there is no such user or session, and ``Forbidden`` where they may
    do more than who acts administers.
    """

    async def work(tx: Transaction) -> int:
        await user_for_change(tx, user, holds)
        ended = await tx.fetch(END_SESSIONS, user, session, keep)
        if session and not ended:
            raise NotFound(f"{user} has no session {session}; it may have ended")
        if ended:
            await events.record(
                tx, "end session", by, reason=reason, detail={"user": user, "ended": len(ended)}
            )
        return len(ended)

    return await db.run(work)


async def note_seen(db: Database, digest: bytes) -> None:
    """Write down that somebody is here."""
    await db.fetch(NOTE_SEEN, digest)


async def try_sign_in(db: Database, name: str, address: str) -> None:
    """Count a sign-in as failed before its password is looked at; ``signed_in`` takes that back.

    So whoever asks many times at once gains nothing. Raises ``TooMany``.
    """
    keys, limits = keys_of(name, address), [PER_NAME, PER_ADDRESS]

    async def work(tx: Transaction) -> None:
        await tx.fetch(LOCK_TRIES, sorted(keys))
        for row in await tx.fetch(COUNT_TRIES, keys, limits, WINDOW):
            raise TooMany(
                "Too many sign-ins have failed, under this name or from this address; "
                f"try again in {max(1, round(row['after'] / 60))} min",
                after=row["after"],
            )
        await tx.fetch(NOTE_TRIES, keys, WINDOW)

    await db.run(work)


async def forgive(db: Database, name: str, address: str) -> None:
    """A sign-in went well: what failed under the name counts no more, nor does this one."""
    await db.fetch(FORGIVE_TRIES, *keys_of(name, address))


def keys_of(name: str, address: str) -> list[str]:
    """Under which keys tries are counted; names are hashed, for people type passwords there."""
    return [f"name {hashed(name.lower()).hex()}", f"address {neighbourhood(address)}"]


def neighbourhood(address: str) -> str:
    """An address, or the network of its own that everybody with an IPv6 address has."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:100]
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(ip_network((found, 64), strict=False))
    return address


async def vouched(
    db: Database, issuer: str, subject: str, names: list[str], roles: Mapping[str, str]
) -> tuple[int, str] | None:
    """Somebody for whom an issuer vouches, with the roles that come with that.

    Returns their number and name; None where they may do nothing, or somebody has disabled them.
    Who is new is known here by the first of ``names`` that is free. Roles that people gave stay.
    """

    async def work(tx: Transaction) -> tuple[int, str] | None:
        found = await tx.fetch(VOUCHED_USER, issuer, subject)
        if not found and roles:
            found = await tx.fetch(ADD_VOUCHED_USER, names, issuer, subject)
        if not found or found[0]["disabled_at"] is not None:
            return None
        user = found[0]
        given = await tx.fetch(
            GIVE_VOUCHED_ROLES, user["id"], list(roles), list(roles.values()), issuer
        )
        return (user["id"], user["name"]) if given[0]["some"] else None

    return await db.run(work)


def hashed(text: str) -> bytes:
    """What stands for a text in the database: a session or a token, both 256 random bits."""
    return sha256(text.encode("utf-8", "surrogateescape")).digest()
