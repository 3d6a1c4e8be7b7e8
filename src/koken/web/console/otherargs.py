"""The arguments of a run that goes again, for somebody to change."""

from __future__ import annotations

from typing import Any

from koken.model.fields import arranged
from koken.model.hiding import masked
from koken.model.run import Run
from koken.views.jobfacts import form_of_run
from koken.web.console.startfields import dump
from koken.web.visit import Visit


async def present(visit: Visit, run: Run[Any]) -> tuple[str, list[str]]:
    """Those that may be shown, as JSON, and the names of those in which there is a secret."""
    args = arranged(dict(run.args), await form_of_run(visit.views, run.id))
    shown = masked(args, visit.house.web.mask, run.veil)
    kept = {name: each for name, each in args.items() if shown[name] == each}
    return dump(kept), [name for name in args if name not in kept]


def changed(args: Any, run: Run[Any]) -> dict[str, Any]:
    """What a form says of them as a repair takes it: only what is other than it was."""
    if not isinstance(args, dict):
        return {"args": args}
    others = {
        name: new for name, new in args.items() if name not in run.args or run.args[name] != new
    }
    return {"args": others} if others else {}
