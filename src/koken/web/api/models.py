"""What goes out about runs, for the description of the API. Answers are made without these."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

T = TypeVar("T")
StateName = Literal[
    "blocked", "ready", "running", "waiting", "succeeded", "failed", "skipped", "cancelled"
]


class Shown(BaseModel):
    """What all have in common."""

    model_config = ConfigDict(extra="allow")


class Listed(BaseModel, Generic[T]):
    """A page of a list."""

    items: list[T]
    next: str | None = Field(description="The cursor of the next page; null: this is the last.")


class FailureShown(Shown):
    """Why it did not end well."""

    type: str
    message: str
    traceback: str | None = None


class TriggerShown(Shown):
    """Who or what started it."""

    kind: Literal["user", "schedule", "signal", "run", "api", "system"]
    by: str | None
    schedule: str | None
    due_at: AwareDatetime | None


class WaitShown(Shown):
    """What it waits for."""

    cause: str
    until: AwareDatetime | None
    wait_for: str | None


class ProgressShown(Shown):
    """How far it says it is."""

    percent: int | None
    message: str


class RunShown(Shown):
    """One going-through of a job."""

    id: str
    job: str
    version: int
    workspace: str
    state: StateName
    phase: Literal["compensating", "cancelling", "running"] | None
    step: str | None
    reason: str | None
    error: FailureShown | None
    args: dict[str, Any]
    result: Any
    progress: ProgressShown
    subject: str | None
    trigger: TriggerShown
    queue: str
    priority: int
    attempt: int
    max_attempts: int
    infra_attempt: int
    max_infra_attempts: int
    wait: WaitShown | None
    worker: str | None
    idempotency_key: str | None
    logical_time: AwareDatetime
    parent_id: str | None
    root_id: str
    actions: list[str] = Field(description="What may be done with it now, the safest first.")
    created_at: AwareDatetime
    started_at: AwareDatetime | None
    ended_at: AwareDatetime | None
    idle: float = Field(
        description="Seconds between its ends and when people let it go again: not at work."
    )
    acknowledged_by: str | None
    url: str = Field(description="Its page in the console.")


class StepShown(Shown):
    """A step of a workflow, an item of a step, or a step that a body has recorded."""

    name: str
    no: int | None
    run: str | None
    state: StateName | None
    code: int
    attempt: int
    max_attempts: int
    reason: str | None


class AttemptShown(Shown):
    """One try at a run."""

    attempt: int
    lease: int
    outcome: str
    worker: str | None
    started_at: AwareDatetime | None
    ended_at: AwareDatetime | None
    error: FailureShown | None


class CheckpointShown(BaseModel):
    """What a body has recorded."""

    key: str
    value: Any
    lease: int
    at: AwareDatetime


class LedgerShown(BaseModel):
    """Work that was handed elsewhere, line by line."""

    key: str
    no: int
    state: Literal["created", "submitted", "done", "failed", "skipped", "cancelled"]
    item: Any
    handle: Any
    submits: int
    submitted_at: AwareDatetime | None
    error: str | None
    updated_at: AwareDatetime


class ActShown(Shown):
    """One thing that somebody did."""

    id: str
    at: AwareDatetime
    verb: str
    by: str
    reason: str | None
    detail: dict[str, Any]


class WhyShown(Shown):
    """Why it stands as it does, the most telling cause first."""

    run: str
    state: StateName
    causes: list[dict[str, Any]]


class GraphShown(Shown):
    """Its steps and what they need."""

    title: str
    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]


class QuestionShown(BaseModel):
    """What a run asks people."""

    key: str
    text: str
    to: str
    schema_: Any = Field(alias="schema", description="The form of an answer: a JSON Schema.")
    asked_at: AwareDatetime
    until: AwareDatetime | None
    reason: str | None = Field(description="Why it is asked again.")


class SignalShown(BaseModel):
    """What was sent to a run."""

    id: str
    name: str
    value: Any
    by: str
    at: AwareDatetime
    taken_by: str | None = Field(description="The wait that took it; null: it waits to be taken.")
    refused: str | None


class LineShown(Shown):
    """A line that a run has printed or logged."""

    id: str
    at: AwareDatetime
    level: str
    stream: str
    lease: int
    text: str


class PlanShown(Shown):
    """What a repair would do."""

    verb: Literal["retry", "rerun", "skip", "resolve", "fork"]
    run: str
    from_step: str | None
    again: list[dict[str, Any]]
    then: list[str]
    keeps: list[str]
    may_repeat: list[str]
    locks: list[dict[str, Any]]
    needs_force: bool
    undone: list[str]


class BulkShown(Shown):
    """Something that is done to many runs, at a rate."""

    id: str
    verb: Literal["retry", "cancel", "skip"]
    query: str
    rate: float
    by: str
    reason: str
    state: Literal["running", "paused", "stopped", "done"]
    total: int
    done: int
    failed_again: int
    refused: int
    stopped_reason: str | None
    created_at: AwareDatetime
    finished_at: AwareDatetime | None


class RefusalShown(BaseModel):
    """Why runs were left as they are."""

    reason: str
    runs: int


class PreviewShown(Shown):
    """What a bulk would be about."""

    runs: int
    jobs: dict[str, int]
    first: list[RunShown]
    foreseen: int = Field(description="Of so many of them, the first, refusals were looked up.")
    refusals: dict[str, int] = Field(description="Why some would be refused, and how many.")


class ProblemShown(Shown):
    """What is wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    instance: str
    problems: dict[str, str] | None = None
    what: str | None = None
    held_by: dict[str, str] | None = None
    since: AwareDatetime | None = None
    after: float | None = None
