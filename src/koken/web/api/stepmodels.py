"""What goes out about the parts of a run and what keeps it, for the description of the API."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field

from koken.web.api.models import FailureShown, Shown, StateName, WaitShown


class ItemsShown(Shown):
    """How far the items of a step are."""

    done: int
    total: int
    bad: int


class ChildShown(Shown):
    """A run that a step stands for, or has started."""

    run: str
    job: str
    state: StateName


class StepShown(Shown):
    """A step of a workflow, an item of a step, or a step that a body has recorded."""

    name: str
    no: int | None
    run: str | None
    state: StateName | None
    code: int = Field(
        description="-1 failed, 0 not started, 1 waits, 2 executing, 3 skipped, 4 completed."
    )
    attempt: int
    max_attempts: int
    items: ItemsShown | None
    started_at: AwareDatetime | None
    ended_at: AwareDatetime | None
    took: float | None = Field(description="Seconds that its attempts have taken.")
    reason: str | None
    gate: str | None = Field(description="Its gate or window, as it is declared.")
    wait: WaitShown | None
    not_before: AwareDatetime | None = Field(description="What its gate says.")
    worker: str | None
    undoes: bool = Field(description="Whether it undoes another one's work.")
    child: ChildShown | None = Field(description="The run that it stands for, or has started.")
    detail: str | None = Field(description="Of work elsewhere: its handle, how often submitted.")
    result: str | None = Field(description="Its result in brief.")
    recorded: bool = Field(description="Whether a body has recorded it; it has no run then.")
    kept_from: str | None = Field(
        description="Of a step that a fork keeps: the run of its origin that it was."
    )


class AttemptShown(Shown):
    """One try at a run."""

    attempt: int
    lease: int
    outcome: str
    worker: str | None
    started_at: AwareDatetime | None
    ended_at: AwareDatetime | None
    error: FailureShown | None
    peak_bytes: int | None
    cpu_seconds: float | None


class CheckpointShown(BaseModel):
    """What a body has recorded."""

    key: str
    value: Any
    lease: int
    at: AwareDatetime = Field(description="When it was kept; of a wait, when that began.")
    by: str | None = Field(description="Of a wait: who has answered, or sent the signal.")
    came_at: AwareDatetime | None = Field(description="When they did.")


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


class SignalShown(BaseModel):
    """What was sent to a run."""

    id: str
    name: str
    value: Any
    by: str
    at: AwareDatetime
    taken_by: str | None = Field(description="The wait that took it; null: it waits to be taken.")
    refused: str | None


class CauseShown(Shown):
    """One reason why a run stands as it does; what does not apply is left out."""

    cause: str
    text: str
    step: str | None = Field(None, description="The step that it is about.")
    key: str | None = None
    held_by: str | None = None
    worker: str | None = None
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    wait_for: str | None = Field(None, description="The signal, question, operation or gate.")


class WhyShown(Shown):
    """Why it stands as it does, the most telling cause first."""

    run: str
    state: StateName
    causes: list[CauseShown]


class NodeItems(Shown):
    """How far the items of a node are."""

    done: int
    total: int


class NodeShown(Shown):
    """A step in a graph."""

    name: str
    run: str | None
    state: StateName | None
    glyph: str
    word: str
    items: NodeItems | None
    attempt: int
    max_attempts: int
    reason: str | None
    gate: str | None
    until: AwareDatetime | None
    starts: str | None = Field(description="The job that it starts.")
    each: str | None = Field(description="What it has an item for.")
    when: str | None
    join: str | None
    child: str | None


class EdgeShown(Shown):
    """One step needs another."""

    from_: str = Field(alias="from")
    to: str
    label: str | None
    hard: bool = Field(description="Whether it wants its result, and is skipped with it.")


class GraphShown(Shown):
    """Its steps and what they need."""

    title: str
    nodes: list[NodeShown]
    edges: list[EdgeShown]
