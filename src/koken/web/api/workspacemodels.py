"""What goes out about workspaces, for the description of the API."""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel


class WorkspaceShown(BaseModel):
    """A workspace; counts go up to 1,000, and 1,001 stands for more."""

    name: str
    running: int
    ready: int
    failed: int
    last_at: AwareDatetime | None
    created_at: AwareDatetime
