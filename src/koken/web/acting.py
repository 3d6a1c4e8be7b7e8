"""What people do to runs through the doors: which right each verb takes, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from koken.errors import Refused
from koken.model.rights import Right
from koken.model.run import Run
from koken.model.states import State
from koken.web.visit import Visit

RIGHTS: Mapping[str, Right] = {
    "cancel": Right.OPERATE,
    "retry": Right.OPERATE,
    "skip": Right.OPERATE,
    "resolve": Right.OPERATE,
    "mark": Right.OPERATE,
    "rerun": Right.OPERATE,
    "fork": Right.OPERATE,
    "acknowledge": Right.OPERATE,
    "answer": Right.START,
    "signal": Right.START,
}
"""Verb → the right that it takes where the run is."""


async def cancel(visit: Visit, run: Run[Any], reason: str) -> Run[Any]:
    """End a run for good. Raises ``Refused`` for one that has ended already."""
    after = run
    if not run.state.ended:
        after = await visit.client.cancel(run.id, reason=reason)
    if run.state.ended or (after.state.ended and after.state is not State.CANCELLED):
        raise Refused(
            f"{after.job} {after.id} has ended already ({after.state})", what=f"run {after.id}"
        )
    return after
