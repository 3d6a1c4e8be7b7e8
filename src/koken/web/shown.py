"""What goes out of the doors: runs and events as plain values, without secrets."""

from __future__ import annotations

from typing import Any

from koken.model.run import Run
from koken.views.events import EventRow
from koken.views.steps import StepRow
from koken.web.masking import masked, masked_text
from koken.web.visit import Visit


def event_json(visit: Visit, event: EventRow) -> dict[str, Any]:
    """An event as ``--json`` prints it."""
    return {**event.to_json(), "detail": event_detail(visit, event)}


def event_detail(visit: Visit, event: EventRow) -> dict[str, Any]:
    """What else is known of an event, without the secrets among arguments, results and answers.

    The outermost names are Koken's own: a ``token`` there is the name of one. What answers a
    question is a secret where the question names one.
    """
    mask = visit.house.web.mask
    found = {name: masked(value, mask) for name, value in event.detail.items()}
    if "answer" in found:
        asked = str(event.detail.get("question"))
        found["answer"] = masked({asked: event.detail["answer"]}, mask)[asked]
    return found


def step_json(visit: Visit, row: StepRow) -> dict[str, Any]:
    """A step as ``--json`` prints it."""
    mask = visit.house.web.mask
    plain = row.to_json()
    plain["result"] = masked_text(row.result, mask, row.name) or None
    plain["detail"] = masked_text(row.detail, mask, row.name) or None
    return plain


def run_json(visit: Visit, run: Run[Any]) -> dict[str, Any]:
    """A run as ``--json`` prints it, with its address in the console.

    Without ``url`` in the settings the address begins at the root of this server.
    """
    plain = run.to_json()
    mask = visit.house.web.mask
    plain["args"] = masked(plain["args"], mask)
    plain["result"] = masked(plain["result"], mask)
    plain["url"] = f"{visit.house.web.url}/runs/{run.id}"
    return plain
