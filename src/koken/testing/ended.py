"""How what a body asks for ends when it is called alone: its children, and waits for ever."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from koken.define.job import Job
from koken.model.durable import Waiting
from koken.model.run import Run
from koken.model.runparts import Failure, Trigger, TriggerKind
from koken.model.states import State

WORKSPACE = "default"


def never(waiting: Waiting) -> TimeoutError:
    """The error of a wait without a timeout for which nothing was given."""
    name = waiting.name
    if waiting.kind == "signal":
        return TimeoutError(f"no signal {name!r} comes; give call(…, signals={{{name!r}: …}})")
    return TimeoutError(f"nobody answers {name!r}; give call(…, answers={{{name!r}: …}})")


def ended_run(
    job: Job[..., Any], plain: Mapping[str, Any], state: State, result: Any, error: Failure | None
) -> Run[Any]:
    """A run as it would stand."""
    now = datetime.now(UTC)
    return Run(
        id=2,
        job=job.name,
        version=1,
        workspace=WORKSPACE,
        state=state,
        queue=job.spec.queue,
        priority=job.spec.priority,
        attempt=1,
        max_attempts=job.spec.max_attempts,
        infra_attempt=0,
        max_infra_attempts=job.spec.max_infra_attempts,
        trigger=Trigger(kind=TriggerKind.RUN),
        args=plain,
        result=result,
        reason="" if error is None else error.in_line,
        error=error,
        logical_time=now,
        parent_id=1,
        root_id=1,
        created_at=now,
        started_at=now,
        ended_at=now,
    )
