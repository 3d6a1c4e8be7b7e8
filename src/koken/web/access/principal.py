"""Who asks, and what they may do where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from koken.model.rights import EVERYWHERE, Right, Role


def rights_of(roles: Mapping[str, str]) -> dict[str, frozenset[Right]]:
    """Workspace → role, as workspace → what is allowed there."""
    return {workspace: Role(role).rights for workspace, role in roles.items()}


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
    number: int = 0
    """Of the token or the user: it belongs to nobody else ever, as a name may."""
    until: datetime | None = None
    """When the token or the session is over; None: that is not known beforehand."""

    @property
    def same(self) -> str:
        """Another text for everybody else; the same in whichever browser somebody is."""
        return f"{self.kind} {self.number or self.name}"

    @property
    def over(self) -> bool:
        """Whether the time of the token or the session is over by now."""
        return self.until is not None and self.until <= datetime.now(UTC)

    def may(self, right: Right, workspace: str) -> bool:
        """Whether that is allowed there."""
        return right in self.rights.get(workspace, ()) or right in self.rights.get(EVERYWHERE, ())

    def sees(self, workspace: str) -> bool:
        """Whether the workspace exists for them at all."""
        return workspace in self.rights or EVERYWHERE in self.rights

    def everywhere(self, right: Right) -> bool:
        """Whether that is allowed in every workspace."""
        return right in self.rights.get(EVERYWHERE, ())

    def places(self, right: Right) -> list[str] | None:
        """The workspaces in which that is allowed; None: every one."""
        if self.everywhere(right):
            return None
        return [workspace for workspace in self.rights if self.may(right, workspace)]
