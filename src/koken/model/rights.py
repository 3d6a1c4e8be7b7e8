"""What people and programs may do where: rights, and roles that bring several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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
HOUSE = "GLOBAL"
"""Where stands what concerns no workspace alone; it is none that one may choose."""


@dataclass(frozen=True, slots=True)
class Membership:
    """What somebody may do somewhere from now on."""

    user: str
    role: str | None
    """None: nothing, or nothing anywhere yet."""
    workspace: str | None
    """``*`` is every workspace; None: it is about none."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"user": self.user, "role": self.role, "workspace": self.workspace}
