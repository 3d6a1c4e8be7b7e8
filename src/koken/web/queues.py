"""Queues as they come through the doors: by name, and the rate that somebody writes."""

from __future__ import annotations

from koken.config import read_rate
from koken.errors import InvalidArguments, NotFound
from koken.views import floor
from koken.views.floor import QueueRow
from koken.web.visit import Visit


async def queue_named(visit: Visit, name: str, workspace: str | None) -> QueueRow:
    """The queue of that name, with the runs of a workspace or of all. Raises ``NotFound``."""
    rows = await floor.queues(visit.views, workspace=workspace, name=name)
    if not rows:
        raise NotFound(
            f"there is no queue {name!r}; the first job or worker that names one makes it"
        )
    return rows[0]


def rate_of(value: float | str | None) -> float | None:
    """Starts a second; None: any. Raises ``InvalidArguments``."""
    try:
        found = read_rate(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidArguments(str(error), {"rate": str(error)}) from None
    if found is not None and not 0 < found < 1e9:
        why = f"is {value!r}; it is above 0 and below a billion a second"
        raise InvalidArguments(f"rate {why}", {"rate": why})
    return found
