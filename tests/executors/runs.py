"""Child runs as a host without a database gives them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from koken.model.run import Run
from koken.model.runparts import Failure, Trigger, TriggerKind
from koken.model.states import State


def child_run(run_id: int, state: State, result: Any = None) -> Run[Any]:
    """A run that a body has started."""
    now = datetime(2026, 3, 6, tzinfo=UTC)
    return Run(
        id=run_id,
        job="kid",
        version=1,
        workspace="acme",
        state=state,
        queue="default",
        priority=0,
        attempt=1,
        max_attempts=1,
        infra_attempt=0,
        max_infra_attempts=3,
        trigger=Trigger(kind=TriggerKind.RUN),
        result=result,
        error=Failure(type="OSError", message="reset") if state is State.FAILED else None,
        reason="OSError: reset" if state is State.FAILED else "",
        logical_time=now,
        root_id=412,
        parent_id=412,
        created_at=now,
    )
