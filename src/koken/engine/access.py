"""Who may come in, and do what where. Nobody gives what they do not have; the terminal has it all.

``holds`` says what who acts may do: workspace → rights, ``*`` for every workspace; None for the
terminal, which has the database's own rights.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from koken.engine import events
from koken.errors import Conflict, Forbidden, InvalidArguments, NotFound, Refused
from koken.model import names
from koken.model.rights import EVERYWHERE, ROLES, Right, Role
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

Holds = Mapping[str, Collection[str]] | None
"""What who acts may do themselves; None: everything."""


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
) -> None:
    """Let somebody sign in with a password, given as its hash, and with a role, if there is one.

    Raises ``Conflict`` where there is a user of that name, and ``Forbidden``.
    """
    check_name(name, "a user")
    if role:
        refuse_to_give(holds, role, workspace)

    async def work(tx: Transaction) -> None:
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

    await db.run(work)


async def set_password(
    db: Database,
    name: str,
    password: str,
    *,
    keep: bytes = b"",
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> None:
    """Give somebody another password, as its hash; ends their sessions but ``keep``.

    Raises ``NotFound``, ``Forbidden``, and ``Refused`` for who signs in elsewhere.
    """

    async def work(tx: Transaction) -> None:
        user = await user_for_change(tx, name, None if is_self(name, by, keep) else holds)
        if user["issuer"] is not None:
            raise Refused(
                f"{name} signs in by {user['issuer']} and has no password here", what=f"user {name}"
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
) -> None:
    """Give somebody a role in a workspace, or everywhere, in place of the one that they have there.

    Raises ``NotFound``, ``Forbidden``, and ``Refused`` for the last administrator of everything.
    """
    refuse_to_give(holds, role, workspace)

    async def work(tx: Transaction) -> None:
        await tx.fetch(LOCK_ROLES)
        user = await user_called(tx, name)
        before = json.loads(user["roles"]).get(workspace)
        if before is not None:
            refuse_to_give(holds, before, workspace)
            if workspace == EVERYWHERE and role != "admin":
                await refuse_for_last(tx, user, holds)
        place = await workspace_id(tx, workspace, make=holds is None)
        await tx.fetch(GIVE_ROLE, user["id"], place, role, by)
        detail = {"user": user["name"], "role": role, "workspace": workspace, "before": before}
        await record(tx, "give role", by, reason, place, detail)

    await db.run(work)


async def take_role(
    db: Database,
    name: str,
    *,
    workspace: str = EVERYWHERE,
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> None:
    """Take the role that somebody has in a workspace, or everywhere.

    Raises ``NotFound``, ``Forbidden``, and ``Refused`` for the last administrator of everything.
    """

    async def work(tx: Transaction) -> None:
        await tx.fetch(LOCK_ROLES)
        user = await user_called(tx, name)
        before = json.loads(user["roles"]).get(workspace)
        if before is None or not covers(holds, workspace, {Right.ADMINISTER}):
            raise NotFound(f"{name} has no role {place_in_words(workspace)}")
        refuse_to_give(holds, before, workspace)
        if workspace == EVERYWHERE:
            await refuse_for_last(tx, user, holds)
        place = await workspace_id(tx, workspace, make=False)
        await tx.fetch(TAKE_ROLE, user["id"], place)
        detail = {"user": user["name"], "role": before, "workspace": workspace}
        await record(tx, "take role", by, reason, place, detail)

    await db.run(work)


async def user_called(tx: Transaction, name: str) -> Row:
    """A user by name, kept from others' changes. Raises ``NotFound``."""
    found = await tx.fetch(USER_FOR_CHANGE, names.folded(name))
    if not found:
        raise NotFound(f"there is no user {name!r}; `koken user list` lists them")
    return found[0]


async def user_for_change(tx: Transaction, name: str, holds: Holds) -> Row:
    """A user as a whole: who changes them may do whatever they may. Raises ``Forbidden``."""
    user = await user_called(tx, name)
    roles: dict[str, str] = json.loads(user["roles"])
    administers = holds is None or any(Right.ADMINISTER in rights for rights in holds.values())
    if not administers or not all(
        covers(holds, workspace, {*Role(role).rights, Right.ADMINISTER})
        for workspace, role in roles.items()
    ):
        raise Forbidden(
            f"{name} may do things that you do not administer; who administers all that "
            f"{name} may do can change this"
        )
    return user


def is_self(name: str, by: str, session: bytes) -> bool:
    """Whether somebody who is signed in changes what is their own."""
    return bool(session) and names.folded(name) == names.folded(by)


def covers(holds: Holds, workspace: str, rights: Collection[str]) -> bool:
    """Whether who acts may do all this there."""
    if holds is None:
        return True
    own = {*holds.get(workspace, ()), *holds.get(EVERYWHERE, ())}
    return own.issuperset(rights)


def refuse_to_give(holds: Holds, role: str, workspace: str) -> None:
    """Raise ``Forbidden`` where who acts has not got that role there or may not give any."""
    if role not in ROLES:
        raise InvalidArguments(f"{role!r} is no role; there are {', '.join(ROLES)}")
    if not covers(holds, workspace, {*Role(role).rights, Right.ADMINISTER}):
        raise Forbidden(
            f"you cannot give or take the role {role} {place_in_words(workspace)}: "
            "only who administers there can"
        )


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


def place_in_words(workspace: str) -> str:
    """``in workspace 'acme'`` or ``everywhere``."""
    return "everywhere" if workspace == EVERYWHERE else f"in workspace {workspace!r}"


def check_name(name: str, what: str) -> None:
    """Refuse a name that could be mistaken for something else. Raises ``InvalidArguments``."""
    why = names.fault(name)
    if why is not None:
        raise InvalidArguments(f"{name!r} is no name for {what}: it {why}", {"name": why})
