"""What goes out of the doors as plain values: no secrets, and to each what they may see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from koken.model.hiding import Hider, has_text, masked, secret
from koken.model.rights import Right
from koken.model.run import Run
from koken.views.events import EventRow
from koken.views.steprows import StepRow
from koken.web.masking import masked_text, masked_under
from koken.web.visit import Visit


def event_json(visit: Visit, event: EventRow) -> dict[str, Any]:
    """An event as ``--json`` prints it."""
    return {**event.to_json(), "detail": event_detail(visit, event)}


def event_detail(visit: Visit, event: EventRow) -> dict[str, Any]:
    """What else is known of an event, without the secrets among arguments, results and answers.

    The outermost names are Koken's own: a ``token`` there is the name of one. What answers a
    question is a secret where the question names one, and so is the result of a step.
    """
    mask = visit.house.web.mask
    found = {name: masked(value, mask) for name, value in event.detail.items()}
    for value, name in (("answer", "question"), ("result", "step")):
        if value in found:
            about = str(event.detail.get(name, ""))
            found[value] = masked_under(about, event.detail[value], mask)
    return found


def step_json(visit: Visit, row: StepRow) -> dict[str, Any]:
    """A step as ``--json`` prints it."""
    mask = visit.house.web.mask
    plain = row.to_json()
    plain["result"] = masked_text(row.result, mask, row.name) or None
    plain["detail"] = masked_text(row.detail, mask, row.name) or None
    return plain


def result_shown(run: Run[Any], hider: Hider) -> Any:
    """The result of a run without secrets; that of a step is one where the step names one."""
    if secret(run.step or "", hider.words) and has_text(run.result):
        return hider.hide(run.result, "")
    return hider.of(run.result, [])


def places(of: str, found: Iterable[str]) -> list[str]:
    """Where something is hidden in a part of a run: ``args.password``, ``result[0].token``."""
    return [f"{of}.{at}" if at and not at.startswith("[") else f"{of}{at}" for at in found]


def run_shown(visit: Visit, run: Run[Any]) -> dict[str, Any]:
    """A run as who asks may see it: all of it for who may read there, else which it is."""
    return seen(visit, run_json(visit, run), "id", "job", "state", "url")


def seen(visit: Visit, plain: Mapping[str, Any], *told: str) -> dict[str, Any]:
    """What a change answers: all of it for who may read where it was made, else these fields."""
    return dict(plain) if visit.may(Right.READ) else {name: plain[name] for name in told}


def run_json(visit: Visit, run: Run[Any]) -> dict[str, Any]:
    """All of a run as ``--json`` prints it, with its address in the console."""
    plain = run.to_json()
    mask = visit.house.web.mask
    args, result = Hider(mask, run.veil), Hider(mask)
    plain["args"] = args.of(plain["args"], [run.veil])
    plain["result"] = result_shown(run, result)
    plain["masked"] = [*places("args", args.found), *places("result", result.found)]
    plain["url"] = f"{visit.base}/runs/{run.id}"
    return plain
