"""What goes out about queues and workers, for the description of the API."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from koken.web.api.models import Shown


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
    taken_for: float | None = Field(
        description="For how many seconds no slot has been free, whoever has them."
    )
    paused_at: AwareDatetime | None
    paused_by: str | None
    pause_reason: str | None


class AtWorkShown(Shown):
    """A run that a worker carries out."""

    run: str
    root: str
    job: str
    step: str | None
    since: AwareDatetime | None


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
    runs: list[AtWorkShown] | None = Field(None, description="What it carries out.")
