"""Browsers that people have signed in with, and the sign-ins that failed."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address, ip_network

from koken.engine import events
from koken.engine.access import Holds, user_for_change
from koken.errors import NotFound, TooMany
from koken.model import names
from koken.model.credentials import hashed
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
HERE, PER_ADDRESS, PER_NAME = 5, 20, 50
"""Failed sign-ins in that time under a name from an address, from an address, and under a name.

The last is many, for anybody can bring it about; a browser that knows the name gets past it.
"""


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
        ended = await tx.fetch(END_SESSIONS, names.folded(user), session, keep)
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


async def try_sign_in(db: Database, name: str, address: str, *, known: bool) -> None:
    """Count a sign-in as failed before its password is looked at; ``forgive`` takes that back.

    So whoever asks many times at once gains nothing. ``known``: they have signed in under that
    name in this browser before, and are not held up by what others try. Raises ``TooMany``.
    """
    limited = keys_of(name, address, known=known)
    keys, limits = list(limited), list(limited.values())

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


async def forgive(db: Database, name: str, address: str, *, known: bool) -> None:
    """A sign-in went well: what failed under the name from there counts no more, nor this one."""
    here, *others = keys_of(name, address, known=known)
    await db.fetch(FORGIVE_TRIES, here, others)


def keys_of(name: str, address: str, *, known: bool) -> dict[str, int]:
    """Under which keys tries are counted, with how many may fail.

    Names are hashed, for people type passwords there.
    """
    under, place = hashed(names.folded(name)).hex(), neighbourhood(address)
    found = {f"name {under} from {place}": HERE, f"address {place}": PER_ADDRESS}
    return found if known else found | {f"name {under}": PER_NAME}


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
    db: Database, issuer: str, subject: str, called: list[str], roles: Mapping[str, str]
) -> tuple[int, str] | None:
    """Somebody for whom an issuer vouches, with the roles that come with that.

    Returns their number and name; None where they may do nothing, or somebody has disabled them.
    Who is new is known here by the first of ``called`` that is free. Roles that people gave stay.
    """

    async def work(tx: Transaction) -> tuple[int, str] | None:
        found = await tx.fetch(VOUCHED_USER, issuer, subject)
        if not found and roles:
            folded = list(map(names.folded, called))
            found = await tx.fetch(ADD_VOUCHED_USER, called, folded, issuer, subject)
        if not found or found[0]["disabled_at"] is not None:
            return None
        user = found[0]
        given = await tx.fetch(
            GIVE_VOUCHED_ROLES, user["id"], list(roles), list(roles.values()), issuer
        )
        return (user["id"], user["name"]) if given[0]["some"] else None

    return await db.run(work)
