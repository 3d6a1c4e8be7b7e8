"""Hooks: addresses under which other systems start a job, each with a secret of its own."""

from __future__ import annotations

from koken.define import checks
from koken.engine.holds import Holds, refuse_to_let_start
from koken.errors import Conflict, DeclarationError, InvalidArguments, NotFound
from koken.model import hooks
from koken.model.hooks import NewSecret
from koken.model.rights import EVERYWHERE
from koken.store.database import Database, Row
from koken.store.statements import Statement

ADD_HOOK = Statement("add_hook")
ROTATE_HOOK = Statement("rotate_hook")
REMOVE_HOOK = Statement("remove_hook")
NOTE_HOOK = Statement("note_hook")
ARGUMENTS_OF = Statement("arguments_of")
DOOR_KEY = Statement("door_key")


async def add(
    db: Database,
    name: str,
    job: str,
    *,
    workspace: str,
    scheme: str = "standard",
    argument: str | None = None,
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> NewSecret:
    """Make a hook that starts ``job``; returns its secret.

    ``argument`` is the one that gets the whole body; without it the body's fields are the
    arguments, those that the job has. Raises ``NotFound`` for a job that there is not,
    ``InvalidArguments``, ``Conflict`` where there is a hook of that name, in whichever workspace,
    and ``Forbidden`` where who makes it may not start jobs there or not say who may come in.
    """
    refuse_to_let_start(holds, workspace)
    try:
        checks.name(name, "hook")
    except DeclarationError as error:
        raise InvalidArguments(str(error), {"name": str(error)}) from None
    if scheme not in hooks.SCHEMES:
        why = f"is {scheme!r}; there are {', '.join(hooks.SCHEMES)}"
        raise InvalidArguments(f"scheme {why}", {"scheme": why})
    found = await db.fetch(ARGUMENTS_OF, job, workspace)
    if not found:
        raise NotFound(f"there is no workspace {workspace!r}")
    names = found[0]["argument_names"]
    if argument is not None and names is not None and argument not in names:
        why = f"job {job!r} has no argument {argument!r}"
        raise InvalidArguments(why, {"argument": why})
    made = await db.fetch(ADD_HOOK, workspace, name, job, scheme, argument, by, reason)
    if not made:
        raise Conflict(
            f"there is a hook {name!r} already; choose another name", what=f"hook {name}"
        )
    return await secret_of(db, name, made[0])


async def rotate(
    db: Database,
    name: str,
    *,
    workspace: str | None = None,
    holds: Holds = None,
    by: str,
    reason: str | None = None,
) -> NewSecret:
    """Give a hook a new secret and return it; the old one is good no more.

    ``workspace``: only where it is of that one. Raises ``NotFound``, and ``Forbidden`` as ``add``.
    """
    refuse_to_let_start(holds, workspace or EVERYWHERE)
    found = await db.fetch(ROTATE_HOOK, name, workspace, by, reason)
    if not found:
        raise unknown(name)
    return await secret_of(db, name, found[0])


async def remove(
    db: Database,
    name: str,
    *,
    workspace: str | None = None,
    by: str,
    reason: str | None = None,
) -> None:
    """Take a hook away; ``workspace``: only where it is of that one. Raises ``NotFound``."""
    if not await db.fetch(REMOVE_HOOK, name, workspace, by, reason):
        raise unknown(name)


async def note_use(db: Database, number: int) -> None:
    """Write down that a hook was used."""
    await db.fetch(NOTE_HOOK, number)


async def secret_of(db: Database, name: str, row: Row) -> NewSecret:
    """The secret of a hook, as it is given to the other system."""
    (door,) = await db.fetch(DOOR_KEY)
    made = hooks.secret(bytes(door["key"]), row["id"], row["salt"])
    return NewSecret(name, hooks.shown(row["scheme"], made))


def unknown(name: str) -> NotFound:
    """What is said of a hook that there is not."""
    return NotFound(f"there is no hook {name!r}; `koken hook list` has them")
