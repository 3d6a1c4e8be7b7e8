"""Who may come in, and do what where: nobody gives what they do not have."""

from __future__ import annotations

import json
from collections.abc import Mapping

from koken.engine import events
from koken.engine.holds import (
    Holds,
    administers,
    covers,
    is_told_of,
    place_in_words,
    refuse_to_give,
)
from koken.errors import Conflict, Forbidden, InvalidArguments, NotFound, Refused
from koken.model import names
from koken.model.rights import EVERYWHERE, Membership, Right, Role
from koken.store.database import Database, Row, Transaction
from koken.store.statements import Statement

ADD_USER = Statement("add_user")
USER_FOR_CHANGE = Statement("user_for_change")
LOCK_ROLES = Statement("lock_roles")
GIVE_ROLE = Statement("give_role")
TAKE_ROLE = Statement("take_role")
OTHER_ADMINS = Statement("other_admins")
SET_PASSWORD = Statement("set_password")
SET_DISABLED = Statement("set_disabled")
WORKSPACE_CALLED = Statement("workspace_called")


async def add_user(
    db: Database,
    name: str,
    password: str,
    *,
    role: str = "",
    workspace: str = EVERYWHERE,
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> Membership:
    """Let somebody sign in with a password, given as its hash, and with a role, if there is one.

    Raises ``Conflict`` where there is a user of that name, ``InvalidArguments`` for a name or a
    role that cannot be, ``NotFound`` for a workspace that is none, and ``Forbidden``: without a
    role they belong to no workspace.
    """
    check_name(name, "a user")
    if role:
        refuse_to_give(holds, role, workspace)
    elif not administers(holds, EVERYWHERE):
        raise Forbidden("only who administers everywhere lets somebody in who has no role yet")

    async def work(tx: Transaction) -> Membership:
        await tx.fetch(LOCK_ROLES)
        added = await tx.fetch(ADD_USER, name, names.folded(name), password, by)
        if not added:
            raise Conflict(f"there is a user {name!r} already", what=f"user {name}")
        place = None
        if role:
            place = await workspace_id(tx, workspace, make=holds is None)
            await tx.fetch(GIVE_ROLE, added[0]["id"], place, role, by)
        detail = {"user": name} | ({"role": role, "workspace": workspace} if role else {})
        await record(tx, "add user", by, reason, place, detail)
        return Membership(name, role, workspace) if role else Membership(name, None, None)

    return await db.run(work)


async def set_password(
    db: Database,
    name: str,
    password: str,
    *,
    keep: bytes = b"",
    instead: str | None = None,
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> None:
    """Give somebody another password, as its hash; ends their sessions but ``keep``.

    ``instead``: only if theirs is the one with this hash still. Raises ``NotFound``,
    ``Forbidden``, and ``Refused`` for who signs in elsewhere, or has another one by now.
    """

    async def work(tx: Transaction) -> None:
        user = await user_for_change(tx, name, None if is_self(name, by, keep) else holds)
        if user["issuer"] is not None:
            raise Refused(
                f"{name} signs in by {user['issuer']} and has no password here", what=f"user {name}"
            )
        if instead is not None and (user["password"] != instead or user["disabled_at"]):
            raise Refused(
                f"the password of {name} was changed by somebody else meanwhile",
                what=f"user {name}",
            )
        await tx.fetch(SET_PASSWORD, user["id"], password, keep)
        await record(tx, "set password", by, reason, None, {"user": user["name"]})

    await db.run(work)


async def disable(
    db: Database, name: str, *, holds: Holds = None, by: str, reason: str | None = None
) -> None:
    """Let somebody in no more; their sessions end at once. Raises ``NotFound``, ``Forbidden``.

    ``Refused`` for the last administrator of everything, save by the terminal.
    """
    await switch(db, name, disabled=True, holds=holds, by=by, reason=reason)


async def enable(
    db: Database, name: str, *, holds: Holds = None, by: str, reason: str | None = None
) -> None:
    """Let somebody in again. Raises ``NotFound``, ``Forbidden``."""
    await switch(db, name, disabled=False, holds=holds, by=by, reason=reason)


async def switch(
    db: Database, name: str, *, disabled: bool, holds: Holds, by: str, reason: str | None
) -> None:
    """Disable or enable."""

    async def work(tx: Transaction) -> None:
        await tx.fetch(LOCK_ROLES)
        user = await user_for_change(tx, name, holds)
        if disabled:
            await refuse_for_last(tx, user, holds)
        await tx.fetch(SET_DISABLED, user["id"], disabled)
        verb = "disable user" if disabled else "enable user"
        await record(tx, verb, by, reason, None, {"user": user["name"]})

    await db.run(work)


async def give_role(
    db: Database,
    name: str,
    role: str,
    *,
    workspace: str = EVERYWHERE,
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> Membership:
    """Give somebody a role in a workspace, or everywhere, in place of the one that they have there.

    The first one that somebody has is given by who administers everywhere. Raises
    ``InvalidArguments`` for a role that there is not, ``NotFound``, ``Forbidden``, and ``Refused``
    for the last administrator of everything.
    """
    refuse_to_give(holds, role, workspace)

    async def work(tx: Transaction) -> Membership:
        await tx.fetch(LOCK_ROLES)
        user = await user_called(tx, name)
        roles = json.loads(user["roles"])
        if not roles and not administers(holds, EVERYWHERE):
            raise Forbidden(
                f"{user['name']} has no role anywhere; only who administers everywhere gives a "
                "first one"
            )
        before = roles.get(workspace)
        if before is not None:
            refuse_to_give(holds, before, workspace)
            if workspace == EVERYWHERE and role != "admin":
                await refuse_for_last(tx, user, holds)
        place = await workspace_id(tx, workspace, make=holds is None)
        await tx.fetch(GIVE_ROLE, user["id"], place, role, by)
        detail = {"user": user["name"], "role": role, "workspace": workspace, "before": before}
        await record(tx, "give role", by, reason, place, detail)
        return Membership(user["name"], role, workspace)

    return await db.run(work)


async def take_role(
    db: Database,
    name: str,
    *,
    workspace: str = EVERYWHERE,
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> Membership:
    """Take the role that somebody has in a workspace, or everywhere.

    Raises ``NotFound``, ``Forbidden``, and ``Refused`` for the last administrator of everything.
    """

    async def work(tx: Transaction) -> Membership:
        await tx.fetch(LOCK_ROLES)
        user = await user_called(tx, name)
        roles = json.loads(user["roles"])
        if not is_told_of(holds, roles):
            raise unknown(name)
        before = roles.get(workspace)
        if before is None or not administers(holds, workspace):
            raise NotFound(f"{user['name']} has no role {place_in_words(workspace)}")
        refuse_to_give(holds, before, workspace)
        if workspace == EVERYWHERE:
            await refuse_for_last(tx, user, holds)
        place = await workspace_id(tx, workspace, make=False)
        await tx.fetch(TAKE_ROLE, user["id"], place)
        detail = {"user": user["name"], "role": before, "workspace": workspace}
        await record(tx, "take role", by, reason, place, detail)
        return Membership(user["name"], None, workspace)

    return await db.run(work)


async def user_called(tx: Transaction, name: str) -> Row:
    """A user by name, kept from others' changes. Raises ``NotFound``."""
    found = await tx.fetch(USER_FOR_CHANGE, names.folded(name))
    if not found:
        raise unknown(name)
    return found[0]


async def user_for_change(tx: Transaction, name: str, holds: Holds) -> Row:
    """A user as a whole: who changes them may do whatever they may.

    Who has no role yet is changed by who administers everywhere, for any may become theirs. Raises
    ``NotFound``, also for one of whom who acts is not told, and ``Forbidden``.
    """
    user = await user_called(tx, name)
    roles: dict[str, str] = json.loads(user["roles"])
    if not is_told_of(holds, roles):
        raise unknown(name)
    if not all(
        covers(holds, workspace, {*Role(role).rights, Right.ADMINISTER})
        for workspace, role in roles.items()
    ):
        raise Forbidden(
            f"{user['name']} may do things that you do not administer; who administers all that "
            f"{user['name']} may do can change this"
        )
    return user


def unknown(name: str) -> NotFound:
    """What is said of a user that there is not."""
    return NotFound(f"there is no user {name!r}; `koken user list` lists them")


def is_self(name: str, by: str, session: bytes) -> bool:
    """Whether somebody who is signed in changes what is their own."""
    return bool(session) and names.folded(name) == names.folded(by)


async def refuse_for_last(tx: Transaction, user: Row, holds: Holds) -> None:
    """Raise ``Refused`` where nobody else would be left who administers everything."""
    if holds is None or json.loads(user["roles"]).get(EVERYWHERE) != "admin":
        return
    if user["disabled_at"] is None and not await tx.fetch(OTHER_ADMINS, user["id"]):
        raise Refused(
            f"{user['name']} is the last who administers everything; give somebody else that role "
            "first, or use the terminal",
            what=f"user {user['name']}",
        )


async def workspace_id(tx: Transaction, name: str, *, make: bool) -> int | None:
    """The number of a workspace; None for everywhere. Raises ``NotFound``."""
    if name == EVERYWHERE:
        return None
    found = await tx.fetch(WORKSPACE_CALLED, name, make)
    if found[0]["id"] is None:
        raise NotFound(f"there is no workspace {name!r} here")
    number: int = found[0]["id"]
    return number


async def record(
    tx: Transaction,
    verb: str,
    by: str,
    reason: str | None,
    place: int | None,
    detail: Mapping[str, object],
) -> None:
    """Write down who did that, in the workspace that it is about."""
    await events.record(tx, verb, by, reason=reason or None, workspace_id=place, detail=detail)


def check_name(name: str, what: str) -> None:
    """Refuse a name that could be mistaken for something else. Raises ``InvalidArguments``."""
    why = names.fault(name)
    if why is not None:
        raise InvalidArguments(f"{name!r} is no name for {what}: it {why}", {"name": why})
