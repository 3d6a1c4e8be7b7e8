"""Keys of programs: made, shown once, and revoked. Only their hashes are kept."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import timedelta

from koken.engine.access import (
    Holds,
    check_name,
    covers,
    place_in_words,
    record,
    workspace_id,
)
from koken.errors import Conflict, Forbidden, InvalidArguments, NotFound
from koken.model.credentials import TOKEN, hashed
from koken.model.rights import EVERYWHERE, Right
from koken.store.database import Database, Transaction
from koken.store.statements import Statement

MAKE_TOKEN = Statement("make_token")
TOKEN_FOR_CHANGE = Statement("token_for_change")
REVOKE_TOKEN = Statement("revoke_token")
NOTE_USE = Statement("note_use")


async def make(
    db: Database,
    name: str,
    scopes: Collection[str],
    *,
    workspace: str = EVERYWHERE,
    seconds: float | None = None,
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> str:
    """Make a token, good for so many seconds or until it is revoked; returns it, this once.

    Raises ``Conflict`` for a name that another good token has, ``Forbidden`` for rights that who
    makes it does not have, and ``NotFound`` for a workspace that is none.
    """
    check_name(name, "a token")
    wanted = [right for right in Right if right in scopes]
    if not wanted or not set(scopes).issubset(Right):
        raise InvalidArguments(f"a token may do one or more of {', '.join(Right)}")
    if seconds is not None and seconds <= 0:
        raise InvalidArguments("a token expires in the future")
    if not covers(holds, workspace, {*wanted, Right.ADMINISTER}):
        raise Forbidden(
            f"you cannot make a token that may {' and '.join(wanted)} {place_in_words(workspace)}: "
            "only who administers there can, and nobody gives what they do not have"
        )
    hint = TOKEN + secrets.token_hex(4)
    token = f"{hint}_{secrets.token_urlsafe(32)}"

    async def work(tx: Transaction) -> None:
        place = await workspace_id(tx, workspace, make=holds is None)
        lifetime = None if seconds is None else timedelta(seconds=seconds)
        digest = hashed(token)
        made = await tx.fetch(MAKE_TOKEN, name, digest, hint, place, wanted, by, lifetime)
        if not made:
            raise Conflict(
                f"there is a token {name!r} already; revoke it first, or choose another name",
                what=f"token {name}",
            )
        detail = {"token": name, "hint": hint, "scopes": wanted, "workspace": workspace}
        await record(tx, "add token", by, reason, place, detail)

    await db.run(work)
    return token


async def revoke(
    db: Database, named: str, *, holds: Holds = None, by: str, reason: str | None = None
) -> str:
    """End a token, by its name or number; returns its name. It is refused within seconds.

    Raises ``NotFound``, also for one of a workspace that who acts does not administer.
    """

    async def work(tx: Transaction) -> str:
        found = await tx.fetch(TOKEN_FOR_CHANGE, named)
        if not found or not covers(holds, found[0]["workspace"], {Right.ADMINISTER}):
            raise NotFound(f"there is no token {named!r} that is good; `koken token list` has them")
        token = found[0]
        await tx.fetch(REVOKE_TOKEN, token["id"], by)
        detail = {"token": token["name"], "hint": token["hint"], "workspace": token["workspace"]}
        await record(tx, "revoke token", by, reason, token["workspace_id"], detail)
        name: str = token["name"]
        return name

    return await db.run(work)


async def note_use(db: Database, token_id: int) -> None:
    """Write down that a token was used."""
    await db.fetch(NOTE_USE, token_id)
