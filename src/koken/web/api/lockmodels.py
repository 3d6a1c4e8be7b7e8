"""What goes out about locks and overlap keys, for the description of the API."""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, Field

from koken.views.locks import Kind


class HolderShown(BaseModel):
    """A run that has a lock or waits for it."""

    run: str
    root: str
    job: str
    step: str | None
    operation: str | None
    state: str
    mode: str
    since: AwareDatetime | None


class LockShown(BaseModel):
    """A lock that somebody has or wants."""

    id: str
    kind: Kind
    key: str
    limit: int
    mode: str | None
    since: AwareDatetime | None
    held: int
    holders: list[HolderShown]
    waiting: int = Field(description="Up to 1,000; 1,001 stands for more.")
    next: list[HolderShown] = Field(description="The first of those that wait.")


class UnlockedShown(BaseModel):
    """From whom a lock was taken."""

    lock: str
    runs: list[str]
    stopping: list[str] = Field(description="Asked to end, and perhaps still at work.")


class KeyShown(BaseModel):
    """An overlap key that a run keeps for itself."""

    key: str
    run: str
    job: str
    state: str
    rule: str
    since: AwareDatetime
