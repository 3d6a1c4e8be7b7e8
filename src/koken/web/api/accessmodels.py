"""What goes out about users and tokens, for the description of the API."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, BaseModel, Field


class UserShown(BaseModel):
    """Somebody who signs in."""

    id: str
    name: str
    issuer: str | None
    roles: dict[str, str] = Field(description="Workspace → role; `*` is everywhere.")
    sessions: int
    created_at: AwareDatetime
    created_by: str
    signed_in_at: AwareDatetime | None
    disabled_at: AwareDatetime | None


class UserChanged(BaseModel):
    """What has become of a user."""

    user: str
    role: str | None = None
    workspace: str | None = None
    disabled: bool | None = None
    ended: int | None = Field(None, description="Sessions.")


class TokenShown(BaseModel):
    """The key of a program; the key itself is nowhere."""

    id: str
    name: str
    hint: str
    workspace: str
    rights: list[str]
    created_at: AwareDatetime
    created_by: str
    expires_at: AwareDatetime | None
    last_used_at: AwareDatetime | None
    revoked_at: AwareDatetime | None
    revoked_by: str | None
    standing: Literal["good", "expired", "revoked"]


class TokenMade(BaseModel):
    """A token, this once."""

    name: str
    token: str
    rights: list[str]
    workspace: str = Field(description="`*` is every workspace.")
    expires_at: AwareDatetime | None = Field(description="null: when it is revoked.")
