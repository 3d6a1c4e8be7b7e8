"""What goes out about jobs and schedules, for the description of the API."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field

from koken.web.api.models import Shown


class LastRunShown(BaseModel):
    """The newest run of a job."""

    id: str
    state: str
    at: AwareDatetime


class JobShown(Shown):
    """A job in a list."""

    name: str
    version: int
    description: str
    owner: str
    tags: list[str]
    queue: str
    expressions: list[str] = Field(description="When its schedules are due, as they are written.")
    next_at: AwareDatetime | None
    paused: bool
    last_run: LastRunShown | None
    retired_at: AwareDatetime | None
    arguments: dict[str, Any] = Field(description="A JSON Schema.")


class ScheduleShown(Shown):
    """When a job runs."""

    id: str
    job: str
    name: str
    expression: str
    timezone: str
    words: str = Field(description="The expression in plain English.")
    overlap: str
    catchup: str
    next_at: AwareDatetime | None
    paused_at: AwareDatetime | None
    paused_by: str | None
    pause_reason: str | None
    problem: str | None = Field(description="Why its next time cannot be computed.")
    last_due_at: AwareDatetime | None
    last_verdict: str | None
    last_reason: str | None


class HealthShown(BaseModel):
    """How a job has gone of late."""

    outcomes: list[str] = Field(description="The states of its last 20 runs, the oldest first.")
    failing_since: str | None = Field(description="The first of the failures in a row that last.")
    open_failures: int = Field(description="Failed and not acknowledged; 1,001: more.")


class JobDetail(Shown):
    """One job."""

    name: str
    app: str
    version: int
    published_at: AwareDatetime
    published_by: str
    spec: dict[str, Any] = Field(description="All that is declared of it.")
    arguments: dict[str, Any] = Field(description="A JSON Schema.")
    schedules: list[ScheduleShown]
    health: HealthShown
    retired_at: AwareDatetime | None


class VersionShown(BaseModel):
    """A version of a job."""

    number: int
    published_at: AwareDatetime
    published_by: str
    current: bool


class VersionDetail(BaseModel):
    """A version with what it says."""

    number: int
    spec: dict[str, Any]


class DifferenceShown(BaseModel):
    """A place in which two versions differ; steps and schedules are called by their names."""

    path: str
    change: Literal["added", "removed", "changed"]
    before: Any
    after: Any


class DifferencesShown(BaseModel):
    """What differs between two versions."""

    from_: int = Field(alias="from")
    to: int
    items: list[DifferenceShown]


class DueShown(BaseModel):
    """A due time to come."""

    at: AwareDatetime
    schedule: str = Field(description="The schedule's number.")


class NextShown(BaseModel):
    """When an expression is due."""

    words: str = Field(description="The expression in plain English.")
    timezone: str
    items: list[AwareDatetime]


class TickShown(Shown):
    """A due time and its verdict."""

    due_at: AwareDatetime
    last_at: AwareDatetime = Field(description="The last of the due times that it stands for.")
    count: int = Field(description="How many due times it stands for.")
    verdict: str
    reason: str | None
    run: str | None
    run_state: str | None
    blocker: str | None = Field(description="The run that stood in the way.")
    fired_at: AwareDatetime
    schedule: str = Field(description="The schedule's number.")
    name: str = Field(description="The schedule's name.")
    job: str
    expression: str
    timezone: str


class SwitchedShown(BaseModel):
    """What became of a pause or its end."""

    paused: bool
    changed: int = Field(description="How many schedules that has changed.")
