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


class Brief(Shown):
    """What was changed, for who may change it and not read: which it is, and how it stands."""


class FailureShown(Shown):
    """Why it did not end well."""

    type: str
    message: str
    traceback: str | None = None
    blocker: str | None = Field(None, description="The run that stood in the way.")
    open_undos: list[str] | None = Field(
        None, description="What was to be undone after it, and is not."
    )
    by: str | None = Field(None, description="Who has cancelled it.")


class TriggerShown(Shown):
    """Who or what started it."""

    kind: Literal["user", "schedule", "signal", "run", "api", "system"]
    by: str | None
    schedule: str | None
    due_at: AwareDatetime | None
    since: AwareDatetime | None = Field(
        description="From where a coalesced run stands for the ticks that were missed."
    )


class WaitShown(Shown):
    """What it waits for."""

    cause: str
    until: AwareDatetime | None
    wait_for: str | None


class ProgressShown(Shown):
    """How far it says it is."""

    percent: int | None
    message: str


class ChildrenShown(Shown):
    """How far the runs are that it is made of: its steps, items or children."""

    made: int
    going: int = Field(description="Those that may go, and have not ended.")
    held: int = Field(description="Those that may not go yet.")
    bad: int


class OriginShown(Shown):
    """The run that somebody made it from, and how."""

    id: str
    verb: str


class RunShown(Shown):
    """One going-through of a job."""

    id: str
    job: str
    version: int
    workspace: str
    state: StateName
    phase: Literal["compensating", "cancelling", "running", "retrying"] | None
    step: str | None
    reason: str | None
    error: FailureShown | None
    args: dict[str, Any]
    result: Any
    masked: list[str] = Field(
        description="What is not shown, such as `args.password`; in its place is `•••`."
    )
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
    step_no: int | None = Field(description="Its place among the steps or items, from 1.")
    undoes_id: str | None = Field(description="The run whose work it undoes.")
    is_workflow: bool = Field(description="Whether it is made of the steps of a workflow.")
    is_item: bool = Field(description="Whether it is one of a step's items.")
    settle: StateName | None = Field(
        description="The state in which it will end, once what it is made of is through."
    )
    children: ChildrenShown | None
    origin: OriginShown | None
    cancelling: bool = Field(description="Whether its worker has yet to confirm a cancel.")
    actions: list[str] = Field(description="What may be done with it now, the safest first.")
    created_at: AwareDatetime
    started_at: AwareDatetime | None = Field(description="When its first attempt began.")
    claimed_at: AwareDatetime | None = Field(description="When its latest attempt began.")
    ended_at: AwareDatetime | None
    idle: float = Field(
        description="Seconds between its ends and when people let it go again: not at work."
    )
    cancelled_by: str | None = Field(description="Who has ended it, where somebody did.")
    acknowledged_by: str | None
    url: str = Field(description="Its page in the console.")


class ActShown(Shown):
    """One thing that somebody did."""

    id: str
    at: AwareDatetime
    verb: str
    by: str
    reason: str | None
    detail: dict[str, Any]


class QuestionShown(BaseModel):
    """What a run asks people."""

    key: str
    text: str
    to: str
    schema_: Any = Field(alias="schema", description="The form of an answer: a JSON Schema.")
    asked_at: AwareDatetime
    until: AwareDatetime | None
    reason: str | None = Field(description="Why it is asked again.")


class LineShown(Shown):
    """A line that a run has printed or logged."""

    id: str
    at: AwareDatetime
    level: str
    stream: str
    lease: int
    text: str
    run: str | None = Field(None, description="The run below that has said it.")
    step: str | None = Field(None, description="What that one is called.")


class InTheWay(Shown):
    """The run that holds what stands in the way."""

    run: str
    job: str
    operation: str | None = Field(description="The transition that it carries out on its subject.")


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
    held_by: InTheWay | None = None
    since: AwareDatetime | None = None
    after: float | None = None
    id: str | None = Field(None, description="Under which the log has more.")
