"""A job as data: what is stored of it, and what each run of it is given."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from koken.model.hiding import holds_secret
from koken.model.policy import Backoff, Effect, Lock, Overlap
from koken.model.schedule import Schedule
from koken.model.steps import StepSpec

QUEUE_DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """Everything about a job but its code. Lengths of time are in seconds."""

    name: str
    description: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    type: str = ""
    queue: str = QUEUE_DEFAULT
    priority: int = 0
    schedules: tuple[Schedule, ...] = ()
    timezone: str = "UTC"
    """In which its schedules and the gates of its steps are read."""
    overlap: Overlap | None = None
    overlap_key: str | None = None
    max_attempts: int = 1
    backoff: Backoff | None = field(default_factory=Backoff)
    """None when the job computes its waits by a function of its own."""
    never_retry: tuple[str, ...] = ()
    max_infra_attempts: int = 3
    timeout: float | None = None
    start_timeout: float | None = None
    run_timeout: float | None = None
    lock: Lock | None = None
    subject: str | None = None
    subject_exclusive: bool = False
    """Whether its runs share their subject with no other: a machine says so, see ``Registry``."""
    effect: Effect | None = None
    executor: str = "thread"
    keep: Mapping[str, float] = field(default_factory=dict)
    """How long ended runs stay, by outcome."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The arguments as a JSON Schema."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that a start may leave out, with the value that they then have."""
    on_success: str | None = None
    """The job that is started when a run has succeeded."""
    on_failure: str | None = None
    """The job that is started when a run has failed for good."""
    fail_fast: bool = False
    """Whether the first step that fails stops the others; else they finish what can be done."""
    steps: tuple[StepSpec, ...] = ()
    """The steps of a workflow, in the order of declaration; a plain job has none."""

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of the arguments, in order."""
        return tuple(self.parameters.get("properties", ()))

    @property
    def secret_arguments(self) -> tuple[str, ...]:
        """The names of the arguments that are, or have in them, what their schema calls secret."""
        parts: Mapping[str, Any] = self.parameters.get("properties", {})
        return tuple(name for name in parts if holds_secret(parts[name], self.parameters))

    def to_json(self) -> dict[str, Any]:
        """As plain values, for storage and for a comparison of versions."""
        return {
            "name": self.name,
            "description": self.description,
            "owner": self.owner,
            "tags": list(self.tags),
            "type": self.type,
            "queue": self.queue,
            "priority": self.priority,
            "schedules": [schedule.to_json() for schedule in self.schedules],
            "timezone": self.timezone,
            "overlap": self.overlap,
            "overlap_key": self.overlap_key,
            "max_attempts": self.max_attempts,
            "backoff": self.backoff.to_json() if self.backoff else None,
            "never_retry": list(self.never_retry),
            "max_infra_attempts": self.max_infra_attempts,
            "timeout": self.timeout,
            "start_timeout": self.start_timeout,
            "run_timeout": self.run_timeout,
            "lock": self.lock.to_json() if self.lock else None,
            "subject": self.subject,
            "subject_exclusive": self.subject_exclusive,
            "effect": self.effect,
            "executor": self.executor,
            "keep": dict(self.keep),
            "parameters": dict(self.parameters),
            "defaults": dict(self.defaults),
            "on_success": self.on_success,
            "on_failure": self.on_failure,
            "fail_fast": self.fail_fast,
            "steps": [step.to_json() for step in self.steps],
        }

    def fingerprint(self) -> bytes:
        """The same for two specs exactly when nothing about the job differs."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).digest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """How one start differs from what the job says. Times are instants, ``delay`` in seconds."""

    run_at: datetime | None = None
    delay: float | None = None
    priority: int | None = None
    queue: str | None = None
    idempotency_key: str | None = None
    overlap: Overlap | None = None
    logical_time: datetime | None = None
