"""A run as people and programs see it: a frozen snapshot, never a live handle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from koken.model.states import State, WaitCause

R_co = TypeVar("R_co", covariant=True)


class TriggerKind(StrEnum):
    """Why a run exists."""

    USER = "user"
    SCHEDULE = "schedule"
    SIGNAL = "signal"
    RUN = "run"
    API = "api"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Who or what started a run; ``schedule`` and ``due_at`` are set when a tick did."""

    kind: TriggerKind
    by: str = ""
    schedule: str | None = None
    due_at: datetime | None = None
    since: datetime | None = None
    """From where a coalesced run stands for the ticks that were missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a run, or one attempt at it, did not end well."""

    type: str
    message: str
    traceback: str = ""
    blocker: int | None = None
    """The run that stood in the way, where one did."""

    def to_json(self) -> dict[str, Any]:
        """As plain values, without what is empty."""
        plain: dict[str, Any] = {"type": self.type, "message": self.message}
        if self.traceback:
            plain["traceback"] = self.traceback
        if self.blocker is not None:
            plain["blocker"] = str(self.blocker)
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Failure:
        """What ``to_json`` gave."""
        blocker = plain.get("blocker")
        return cls(
            type=plain.get("type", ""),
            message=plain.get("message", ""),
            traceback=plain.get("traceback", ""),
            blocker=None if blocker is None else int(blocker),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a run that is neither running nor ended waits for."""

    cause: WaitCause
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run says it is."""

    percent: int | None = None
    message: str = ""


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
    error: Failure | None = None
    progress: Progress = Progress()
    wait: Wait | None = None
    worker: str | None = None
    subject: str | None = None
    idempotency_key: str | None = None
    logical_time: datetime
    parent_id: int | None = None
    root_id: int
    step: str | None = None
    cancelling: bool = False
    """Whether a cancel was asked for and its end is not confirmed yet."""
    created_at: datetime
    started_at: datetime | None = None
    """When its first attempt began."""
    claimed_at: datetime | None = None
    """When its latest attempt began."""
    ended_at: datetime | None = None
    acknowledged_by: str | None = None

    @property
    def reason(self) -> str:
        """One line on why it stands as it does; empty when all is well."""
        if self.error is None:
            return ""
        if self.error.type in ("", "Skip", "Cancel", "Fail"):
            return self.error.message
        return f"{self.error.type}: {self.error.message}".rstrip(": ")

    @property
    def actions(self) -> tuple[str, ...]:
        """What may be done with it now, the safest first."""
        if not self.state.ended:
            return ("cancel",)
        found = []
        if self.state is not State.SUCCEEDED:
            found.append("retry")
        if self.state in (State.FAILED, State.CANCELLED) and self.acknowledged_by is None:
            found.append("acknowledge")
        return tuple(found)

    @property
    def phase(self) -> str | None:
        """``cancelling`` while a cancel waits to be confirmed."""
        return "cancelling" if self.cancelling and not self.state.ended else None

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
            },
            "queue": self.queue,
            "priority": self.priority,
            "attempt": self.attempt,
            "max_attempts": self.max_attempts,
            "infra_attempt": self.infra_attempt,
            "max_infra_attempts": self.max_infra_attempts,
            "wait": {"cause": self.wait.cause.value, "until": stamp(self.wait.until)}
            if self.wait
            else None,
            "worker": self.worker,
            "idempotency_key": self.idempotency_key,
            "logical_time": stamp(self.logical_time),
            "parent_id": None if self.parent_id is None else str(self.parent_id),
            "root_id": str(self.root_id),
            "actions": list(self.actions),
            "created_at": stamp(self.created_at),
            "started_at": stamp(self.started_at),
            "ended_at": stamp(self.ended_at),
            "acknowledged_by": self.acknowledged_by,
        }


def stamp(instant: datetime | None) -> str | None:
    """An instant as ISO 8601 with its offset; None for none."""
    return None if instant is None else instant.isoformat()
