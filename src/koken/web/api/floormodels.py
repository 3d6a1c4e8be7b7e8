"""What goes out about the floor: queues, workers, locks, events, hooks; for the description."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field

from koken.views.locks import Kind
from koken.web.api.models import ActShown, Shown


class QueueShown(Shown):
    """A queue; counts go up to 1,000, and 1,001 stands for more."""

    name: str
    running: int
    ready: int
    slots: int
    limit: int | None
    rate: float | None = Field(description="Starts a second.")
    burst: int
    full: bool
    paused_at: AwareDatetime | None
    paused_by: str | None
    pause_reason: str | None


class WorkerShown(Shown):
    """A worker."""

    id: str
    name: str
    host: str
    pid: int
    app: str
    version: str
    queues: dict[str, int]
    slots: int
    busy: int = Field(description="Runs of this workspace that it carries out.")
    started_at: AwareDatetime
    beat_at: AwareDatetime
    silent_for: float
    standing: Literal["live", "draining", "suspect", "lost", "stopped"]


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


class EventShown(ActShown):
    """One thing that somebody did, and what it was about."""

    workspace: str
    job: str | None
    run: str | None


class AskedShown(BaseModel):
    """A question that is open."""

    run: str
    root: str
    job: str
    step: str | None
    key: str
    text: str
    to: str | None = Field(description="Of whom it asks.")
    reason: str | None
    form: dict[str, Any] = Field(alias="schema", description="A JSON Schema of the answer.")
    asked_at: AwareDatetime
    until: AwareDatetime | None


class AwaitedShown(BaseModel):
    """A run that waits for a signal."""

    run: str
    root: str
    job: str
    step: str | None
    names: list[str]
    since: AwareDatetime | None
    until: AwareDatetime | None


class WorkspaceShown(BaseModel):
    """A workspace; counts go up to 1,000, and 1,001 stands for more."""

    name: str
    running: int
    ready: int
    failed: int
    last_at: AwareDatetime | None
    created_at: AwareDatetime


class FindingShown(BaseModel):
    """One line of the doctor."""

    name: str
    good: bool
    text: str
    remedy: str | None


class PrunableShown(BaseModel):
    """What a prune would take."""

    runs: int
    more: bool = Field(description="Whether there are more runs than were looked at.")
    ticks: int
    log_days: int


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
