"""What goes out about hooks and requests from elsewhere, for the description of the API."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, BaseModel, Field


class HookShown(BaseModel):
    """An address under which another system starts a job."""

    id: str
    name: str
    workspace: str
    job: str
    scheme: Literal["standard", "github"]
    argument: str | None
    created_at: AwareDatetime
    created_by: str
    last_used_at: AwareDatetime | None


class HookMade(BaseModel):
    """A hook with its secret, which can be shown again only by making a new one."""

    name: str
    url: str
    secret: str


class AcceptedShown(BaseModel):
    """What a request or a hook came to."""

    run: str
    existing: bool = Field(description="Whether it had come before, and nothing new was started.")
    url: str
