"""What who acts may do themselves, for nobody gives what they do not have."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from koken.errors import Forbidden, InvalidArguments
from koken.model.rights import EVERYWHERE, ROLES, Right, Role

Holds = Mapping[str, Collection[str]] | None
"""Workspace → rights, ``*`` for every workspace; None for the terminal, which has all there are."""


def covers(holds: Holds, workspace: str, rights: Collection[str]) -> bool:
    """Whether who acts may do all this there."""
    if holds is None:
        return True
    own = {*holds.get(workspace, ()), *holds.get(EVERYWHERE, ())}
    return own.issuperset(rights)


def administers(holds: Holds, workspace: str) -> bool:
    """Whether who acts says there who may come in."""
    return covers(holds, workspace, {Right.ADMINISTER})


def is_told_of(holds: Holds, roles: Mapping[str, str]) -> bool:
    """Whether somebody with these roles is among the users that who acts is shown."""
    if administers(holds, EVERYWHERE) or any(administers(holds, place) for place in roles):
        return True
    return EVERYWHERE in roles and any(administers(holds, place) for place in holds or ())


def refuse_to_give(holds: Holds, role: str, workspace: str) -> None:
    """Raise ``Forbidden`` where who acts has not got that role there or may not give any.

    Raises ``InvalidArguments`` for a role that there is not.
    """
    if role not in ROLES:
        raise InvalidArguments(f"{role!r} is no role; there are {', '.join(ROLES)}")
    if not covers(holds, workspace, {*Role(role).rights, Right.ADMINISTER}):
        raise Forbidden(
            f"you cannot give or take the role {role} {place_in_words(workspace)}: "
            "only who administers there can"
        )


def refuse_to_let_start(holds: Holds, workspace: str) -> None:
    """Raise ``Forbidden`` where who acts may not have others start jobs there."""
    if not covers(holds, workspace, {Right.START, Right.ADMINISTER}):
        raise Forbidden(
            f"you cannot have others start jobs {place_in_words(workspace)}: that takes "
            f"{Right.START} and {Right.ADMINISTER} there, and nobody gives what they do not have"
        )


def place_in_words(workspace: str) -> str:
    """``in workspace 'acme'`` or ``everywhere``."""
    return "everywhere" if workspace == EVERYWHERE else f"in workspace {workspace!r}"
