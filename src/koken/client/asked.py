"""What a repair is asked to do, looked at before anything is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from koken.client.arguments import NOTHING, said
from koken.client.results import NO_RESULT
from koken.config import read_rate
from koken.define.problems import invalid, shown
from koken.define.registry import Registry
from koken.define.steps import Step
from koken.engine.repair import VERBS, Verb
from koken.errors import InvalidArguments
from koken.model import codec
from koken.model.run import Run

Named = str | Step[..., Any] | None
"""A step, by its name or itself; ``table[3]`` is an item."""
CODES: dict[int | None, str] = {4: "resolve", 3: "skip", 0: "retry", 1: "retry"}
TAKES = {
    "retry": ("from_step", "args"),
    "rerun": (),
    "skip": ("step",),
    "resolve": ("step", "result"),
    "fork": ("step", "from_step"),
}
"""What can be said of each verb in a plan; of a fork the step either way."""
NO_MARK: dict[int | None, str] = {
    -1: "-1 says that a step has failed; that is what bodies do. cancel its run to stop it",
    2: "2 says that a step is executing; retry (0 or 1) lets it go, and a worker executes it",
}


def named(step: Named) -> str | None:
    """The name of a step."""
    if isinstance(step, Step):
        return step.name
    return None if step is None else said("step", step)


def verb_of(code: Any) -> Verb:
    """The verb that a number stands for. Raises ``InvalidArguments`` where none does."""
    known = code if isinstance(code, int) else None
    if known not in CODES:
        why = NO_MARK.get(known, "the codes are 4 (done), 3 (skipped), 0 and 1 (run again)")
        raise InvalidArguments(f"a step cannot be marked {shown(code)}: {why}")
    return cast(Verb, CODES[known])


def speed_of(rate: str | float) -> float:
    """A rate in runs a second. Raises ``InvalidArguments``."""
    try:
        return read_rate(rate)
    except ValueError as error:
        raise InvalidArguments(str(error)) from None


def check_planned(verb: str, **given: Any) -> Verb:
    """The verb whose plan is wanted.

    Raises ``InvalidArguments`` for one that has none, and for what it does not take, or takes once.
    """
    if verb not in VERBS:
        raise InvalidArguments(f"{verb!r} has no plan; those that have are {', '.join(VERBS)}")
    names = [name for name, value in given.items() if value is not None and value is not NO_RESULT]
    other = [name for name in names if name not in TAKES[verb]]
    if other:
        takes = " and ".join(TAKES[verb]) or "nothing more"
        raise InvalidArguments(f"{verb} does not take {', '.join(other)}; it takes {takes}")
    if "step" in names and "from_step" in names:
        raise InvalidArguments(f"{verb} takes one step; step and from_step are two")
    return cast(Verb, verb)


def check_args(args: Any) -> Mapping[str, Any]:
    """New arguments by name. Raises ``InvalidArguments`` for what is something else."""
    if isinstance(args, Mapping) and all(isinstance(name, str) for name in args):
        return args
    problem = f"{shown(args)} is not an object with named fields"
    raise InvalidArguments(f"args: {problem}. {NOTHING}", {"args": problem})


def args_text(registry: Registry, run: Run[Any], args: Any) -> str:
    """New arguments over the run's own as JSON text, checked where its job is declared here."""
    merged: Mapping[str, Any] = {**run.args, **check_args(args)}
    try:
        if run.job in registry:
            merged = registry.get(run.job).body.bind_plain(merged)
        return codec.encode(merged, name="the arguments")
    except InvalidArguments as error:
        raise invalid(run.job, error.problems, end=NOTHING) from None
    except codec.Unstorable as error:
        raise invalid(run.job, {"args": str(error)}, end=NOTHING) from None
