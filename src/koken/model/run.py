"""A run as people and programs see it: a frozen snapshot, never a live handle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from koken.model.plain import instant_of, number_of, stamp, text_of
from koken.model.runparts import Children, Failure, Origin, Progress, Trigger, TriggerKind, Wait
from koken.model.states import State, WaitCause

UNDO = "undo"
"""What a run waits for while its steps are undone."""
FROM_FORM = "form:"
"""With what the idempotency keys begin that forms give by themselves, so that they start once."""
R_co = TypeVar("R_co", covariant=True)

SAME = (
    "job",
    "version",
    "workspace",
    "queue",
    "priority",
    "attempt",
    "max_attempts",
    "infra_attempt",
    "max_infra_attempts",
    "args",
    "result",
    "worker",
    "subject",
    "idempotency_key",
    "idle",
    "step",
    "step_no",
    "is_workflow",
    "is_item",
    "cancelling",
    "cancelled_by",
    "acknowledged_by",
)
"""What of a run JSON has as it is."""


@dataclass(frozen=True, kw_only=True)
class Run(Generic[R_co]):
    """One going-through of a job, as it stood when it was read."""

    id: int
    job: str
    version: int
    workspace: str
    state: State
    queue: str
    priority: int
    attempt: int
    max_attempts: int
    infra_attempt: int
    max_infra_attempts: int
    trigger: Trigger
    args: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None
    """The result as plain JSON values; ``client.result`` gives it back typed."""
    masked: tuple[str, ...] = ()
    """What of it is not shown to who asked over HTTP, such as ``args.password``; there it has
    three dots."""
    veil: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The JSON Schema of the arguments where that calls some of them secret."""
    reason: str = ""
    """One line on why it stands as it does; empty when all is well."""
    error: Failure | None = None
    """What has gone wrong with it, or with its last attempt; None where it only waits, or was ended
    on purpose."""
    progress: Progress = field(default_factory=Progress)
    wait: Wait | None = None
    worker: str | None = None
    subject: str | None = None
    idempotency_key: str | None = None
    logical_time: datetime
    parent_id: int | None = None
    root_id: int
    step: str | None = None
    step_no: int | None = None
    """Its place among the steps or items of its parent, from 1."""
    undoes_id: int | None = None
    """The run whose work it undoes."""
    is_workflow: bool = False
    """Whether it is made of the steps of a workflow, which have begun to exist."""
    is_item: bool = False
    """Whether it is one of a step's items."""
    settle: State | None = None
    """The state in which it will end, once the runs that it is made of are through."""
    children: Children | None = None
    origin: Origin | None = None
    cancelling: bool = False
    """Whether a cancel was asked for and its end is not confirmed yet."""
    created_at: datetime
    started_at: datetime | None = None
    """When its first attempt began."""
    claimed_at: datetime | None = None
    """When its latest attempt began."""
    ended_at: datetime | None = None
    idle: float = 0.0
    """Seconds between its ends and when people let it go again; nobody was at work then."""
    cancelled_by: str | None = None
    """Who has ended it, where somebody did."""
    acknowledged_by: str | None = None

    @property
    def of_step(self) -> bool:
        """Whether it is a step of a workflow, or one item of a step."""
        return self.step_no is not None and self.undoes_id is None

    @property
    def actions(self) -> tuple[str, ...]:
        """What may be done with it now, the safest first.

        Of a workflow, skip and resolve are done with one of its steps.
        """
        if not self.state.ended:
            skippable = self.of_step and self.state is not State.RUNNING
            return ("cancel", "skip", "resolve") if skippable else ("cancel",)
        bad = self.state in (State.FAILED, State.CANCELLED)
        if self.undoes_id is not None:
            return ("retry", "skip", "resolve") if bad else ()
        if self.of_step:
            return {State.SUCCEEDED: ("retry",), State.SKIPPED: ("retry", "resolve")}.get(
                self.state, ("retry", "skip", "resolve")
            )
        found = [] if self.state is State.SUCCEEDED else ["retry"]
        if self.is_workflow and self.state is State.FAILED:
            found += ["skip", "resolve"]
        found.append("rerun")
        if self.is_workflow:
            found.append("fork")
        if bad and self.acknowledged_by is None:
            found.append("acknowledge")
        return tuple(found)

    @property
    def phase(self) -> str | None:
        """What it does, where its state does not tell.

        ``compensating`` while its steps are undone, ``cancelling`` while a cancel waits to be
        confirmed, ``running`` while the runs go that it is made of, ``retrying`` while it waits
        for its next attempt.
        """
        if self.state.ended:
            return None
        waits = self.wait
        if self.settle is not None and waits is not None and waits.wait_for == UNDO:
            return "compensating"
        if self.cancelling:
            return "cancelling"
        if waits is not None and waits.cause is WaitCause.CHILDREN:
            return "running"
        if waits is not None and waits.cause is WaitCause.RETRY:
            return "retrying"
        return None

    def to_json(self) -> dict[str, Any]:
        """The run as the API and ``--json`` show it; ids are texts."""
        return {
            "id": str(self.id),
            "job": self.job,
            "version": self.version,
            "workspace": self.workspace,
            "state": self.state.value,
            "phase": self.phase,
            "step": self.step,
            "reason": self.reason or None,
            "error": self.error.to_json() if self.error else None,
            "args": dict(self.args),
            "result": self.result,
            "progress": {"percent": self.progress.percent, "message": self.progress.message},
            "subject": self.subject,
            "trigger": {
                "kind": self.trigger.kind.value,
                "by": self.trigger.by or None,
                "schedule": self.trigger.schedule,
                "due_at": stamp(self.trigger.due_at),
                "since": stamp(self.trigger.since),
            },
            "queue": self.queue,
            "priority": self.priority,
            "attempt": self.attempt,
            "max_attempts": self.max_attempts,
            "infra_attempt": self.infra_attempt,
            "max_infra_attempts": self.max_infra_attempts,
            "wait": self.wait.to_json() if self.wait else None,
            "worker": self.worker,
            "idempotency_key": self.idempotency_key,
            "logical_time": stamp(self.logical_time),
            "parent_id": text_of(self.parent_id),
            "root_id": str(self.root_id),
            "step_no": self.step_no,
            "undoes_id": text_of(self.undoes_id),
            "is_workflow": self.is_workflow,
            "is_item": self.is_item,
            "settle": self.settle,
            "children": self.children.to_json() if self.children else None,
            "origin": self.origin.to_json() if self.origin else None,
            "cancelling": self.cancelling,
            "actions": list(self.actions),
            "created_at": stamp(self.created_at),
            "started_at": stamp(self.started_at),
            "claimed_at": stamp(self.claimed_at),
            "ended_at": stamp(self.ended_at),
            "idle": self.idle,
            "cancelled_by": self.cancelled_by,
            "acknowledged_by": self.acknowledged_by,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Run[Any]:
        """What ``to_json`` gave."""
        trigger, progress = plain["trigger"], plain["progress"]
        return cls(
            **{name: plain[name] for name in SAME},
            masked=tuple(plain.get("masked", ())),
            id=int(plain["id"]),
            state=State(plain["state"]),
            trigger=Trigger(
                kind=TriggerKind(trigger["kind"]),
                by=trigger["by"] or "",
                schedule=trigger["schedule"],
                due_at=instant_of(trigger["due_at"]),
                since=instant_of(trigger["since"]),
            ),
            reason=plain["reason"] or "",
            error=Failure.from_json(plain["error"]) if plain["error"] else None,
            progress=Progress(percent=progress["percent"], message=progress["message"]),
            wait=Wait.from_json(plain["wait"]) if plain["wait"] else None,
            logical_time=datetime.fromisoformat(plain["logical_time"]),
            parent_id=number_of(plain["parent_id"]),
            root_id=int(plain["root_id"]),
            undoes_id=number_of(plain["undoes_id"]),
            settle=State(plain["settle"]) if plain["settle"] else None,
            children=Children(**plain["children"]) if plain["children"] else None,
            origin=Origin.from_json(plain["origin"]) if plain["origin"] else None,
            created_at=datetime.fromisoformat(plain["created_at"]),
            started_at=instant_of(plain["started_at"]),
            claimed_at=instant_of(plain["claimed_at"]),
            ended_at=instant_of(plain["ended_at"]),
        )
