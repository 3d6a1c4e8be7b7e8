"""Sign-ins: those that failed are counted, and those for whom an issuer vouches are let in."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address, ip_network

from koken.errors import Conflict, TooMany
from koken.model import names
from koken.model.credentials import hashed
from koken.store.database import Database, Row, Transaction
from koken.store.statements import Statement

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
    Who is new is known here by the first of ``called`` that is free; raises ``Conflict`` where none
    is. Roles that people gave stay.
    """

    async def work(tx: Transaction) -> tuple[int, str] | None:
        user = await vouched_user(tx, issuer, subject, called if roles else None)
        if user is None or user["disabled_at"] is not None:
            return None
        given = await tx.fetch(
            GIVE_VOUCHED_ROLES, user["id"], list(roles), list(roles.values()), issuer
        )
        return (user["id"], user["name"]) if given[0]["some"] else None

    return await db.run(work)


async def vouched_user(
    tx: Transaction, issuer: str, subject: str, called: list[str] | None
) -> Row | None:
    """The user that an issuer means; added where there is none yet, unless ``called`` is None."""
    while True:
        for known in await tx.fetch(VOUCHED_USER, issuer, subject):
            return known
        if called is None:
            return None
        folded = list(map(names.folded, called))
        added = await tx.fetch(ADD_VOUCHED_USER, called, folded, issuer, subject)
        if not added:
            raise Conflict(
                f"the issuer vouches for {subject}, and every name that it tells is somebody "
                f"else's here: {', '.join(called) or 'it tells none that could be one'}. Somebody "
                "who administers Koken can help",
                what=f"user {subject}",
            )
        if added[0]["id"] is not None:
            return added[0]
