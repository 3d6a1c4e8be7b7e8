"""What people and programs may do where: rights, and roles that bring several."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Right(StrEnum):
    """What a door lets people do."""

    READ = "read"
    START = "start"
    """Start runs, send signals, answer questions."""
    OPERATE = "operate"
    """Cancel, repair, pause: whatever changes what goes."""
    ADMINISTER = "administer"
    """Say who may come in."""


class Role(StrEnum):
    """What somebody is in a workspace, from little to all."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def rights(self) -> frozenset[Right]:
        """What comes with it."""
        return RIGHTS[self]


ROLES = tuple(Role)
RIGHTS: Mapping[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.READ}),
    Role.OPERATOR: frozenset({Right.READ, Right.START, Right.OPERATE}),
    Role.ADMIN: frozenset(Right),
}
EVERYWHERE = "*"
"""Stands for every workspace."""
