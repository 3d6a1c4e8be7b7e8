"""What programs and browsers show to be let in, and what stands for it in the database."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from koken.model.plain import stamp

TOKEN = "koken_"
"""How tokens begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token that was just made. It is told this once."""

    name: str
    token: str = field(repr=False)
    rights: tuple[str, ...]
    workspace: str
    """``*`` is every workspace."""
    expires_at: datetime | None
    """None: when it is revoked."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "name": self.name,
            "token": self.token,
            "rights": list(self.rights),
            "workspace": self.workspace,
            "expires_at": stamp(self.expires_at),
        }


def hashed(text: str) -> bytes:
    """What stands for a text in the database: a session or a token, both 256 random bits."""
    return sha256(text.encode("utf-8", "surrogateescape")).digest()
