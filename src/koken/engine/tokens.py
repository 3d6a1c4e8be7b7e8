"""Keys of programs: made, shown once, and revoked. Only their hashes are kept."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from koken.engine.access import check_name, record, workspace_id
from koken.engine.holds import Holds, administers, covers, place_in_words
from koken.errors import Conflict, Forbidden, InvalidArguments, NotFound
from koken.model.credentials import TOKEN, NewToken, hashed
from koken.model.rights import EVERYWHERE, Right
from koken.store.database import Database, Row, Transaction
from koken.store.statements import Statement

MAKE_TOKEN = Statement("make_token")
TOKEN_FOR_CHANGE = Statement("token_for_change")
REVOKE_TOKEN = Statement("revoke_token")
NOTE_USE = Statement("note_use")


async def make(
    db: Database,
    name: str,
    rights: Collection[str],
    *,
    workspace: str = EVERYWHERE,
    seconds: float | None = None,
    until: datetime | None = None,
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> NewToken:
    """Make a token, good for so many seconds or until it is revoked; returns it, this once.

    ``until``: when who makes it is let in no more, where that is known; it is good no longer.
    Raises ``Conflict`` for a name that another token has there which nobody has revoked, also one
    that has expired; ``Forbidden`` for rights that who makes it does not have; ``NotFound`` for a
    workspace that is none, and ``InvalidArguments``.
    """
    check_name(name, "a token")
    wanted = [right for right in Right if right in rights]
    if not wanted or not set(rights).issubset(Right):
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

    async def work(tx: Transaction) -> NewToken:
        place = await workspace_id(tx, workspace, make=holds is None)
        lifetime = None if seconds is None else timedelta(seconds=seconds)
        digest = hashed(token)
        made = await tx.fetch(MAKE_TOKEN, name, digest, hint, place, wanted, by, lifetime, until)
        if not made:
            raise Conflict(
                f"there is a token {name!r} {place_in_words(workspace)} already; revoke it first, "
                "or choose another name",
                what=f"token {name}",
            )
        detail = {"token": name, "hint": hint, "rights": wanted, "workspace": workspace}
        await record(tx, "add token", by, reason, place, detail)
        return NewToken(
            name=name,
            token=token,
            rights=tuple(wanted),
            workspace=workspace,
            expires_at=made[0]["expires_at"],
        )

    return await db.run(work)


async def revoke(
    db: Database,
    named: str,
    *,
    workspace: str | None = None,
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> str:
    """End a token, by its name or number; returns its name. It is refused within seconds.

    Of several of that name it is the one of ``workspace``. Raises ``InvalidArguments`` where none
    of them is, and ``NotFound``, also for one of a workspace that who acts does not administer.
    """

    async def work(tx: Transaction) -> str:
        found = await tx.fetch(TOKEN_FOR_CHANGE, named)
        token = one_of(named, [row for row in found if administers(holds, row["place"])], workspace)
        await tx.fetch(REVOKE_TOKEN, token["id"], by)
        detail = {"token": token["name"], "hint": token["hint"], "workspace": token["place"]}
        await record(tx, "revoke token", by, reason, token["workspace_id"], detail)
        name: str = token["name"]
        return name

    return await db.run(work)


def one_of(named: str, found: Sequence[Row], workspace: str | None) -> Row:
    """The token that is meant: of that number, else the only one, else the one in ``workspace``.

    Raises ``NotFound``, ``InvalidArguments``.
    """
    if not found:
        raise NotFound(f"there is no token {named!r} that is good; `koken token list` has them")
    meant = [row for row in found if str(row["id"]) == named] or found
    if len(meant) > 1:
        meant = [row for row in meant if row["place"] == workspace] or meant
    if len(meant) > 1:
        each = ", ".join(f"{row['id']} {place_in_words(row['place'])}" for row in meant)
        why = f"is the name of several tokens; say which by its number: {each}"
        raise InvalidArguments(f"{named!r} {why}", {"token": why})
    return meant[0]


async def note_use(db: Database, token_id: int) -> None:
    """Write down that a token was used."""
    await db.fetch(NOTE_USE, token_id)
