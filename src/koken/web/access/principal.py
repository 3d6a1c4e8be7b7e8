"""Who asks, and what they may do where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from koken.model import web
from koken.model.web import EVERYWHERE


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
    """What somebody is in a workspace."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def rights(self) -> frozenset[Right]:
        """What comes with it."""
        return RIGHTS[self]


RIGHTS: Mapping[Role, frozenset[Right]] = {
    role: frozenset(map(Right, web.RIGHTS[role])) for role in Role
}


def rights_of(roles: Mapping[str, str]) -> dict[str, frozenset[Right]]:
    """Workspace → role, as workspace → what is allowed there."""
    return {workspace: RIGHTS[Role(role)] for workspace, role in roles.items()}


class Kind(StrEnum):
    """How somebody came in."""

    USER = "user"
    """Signed in here or by OpenID Connect; has a session."""
    TOKEN = "token"
    PROXY = "proxy"
    """A trusted proxy says who it is."""
    LOCAL = "local"
    """On this machine, while nobody has been given credentials yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks."""

    name: str
    """For the record."""
    kind: Kind
    rights: Mapping[str, frozenset[Right]] = field(default_factory=dict)
    """Workspace → what is allowed there; ``*`` is every workspace."""
    session: bytes = b""
    """The hash that stands for a browser's session."""

    def may(self, right: Right, workspace: str) -> bool:
        """Whether that is allowed there."""
        return right in self.rights.get(workspace, ()) or right in self.rights.get(EVERYWHERE, ())

    def sees(self, workspace: str) -> bool:
        """Whether the workspace exists for them at all."""
        return workspace in self.rights or EVERYWHERE in self.rights

    @property
    def everywhere(self) -> bool:
        """Whether every workspace exists for them; the whole house's facts are theirs to see."""
        return EVERYWHERE in self.rights
