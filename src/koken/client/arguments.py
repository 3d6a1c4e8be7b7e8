"""From a call to plain values: the arguments of starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from koken.define.job import Job
from koken.define.machine import Transition
from koken.define.problems import invalid, shown
from koken.errors import InvalidArguments
from koken.model import codec
from koken.model.rights import HOUSE

P = ParamSpec("P")
R = TypeVar("R")
NOTHING = "Nothing was done."


def said(name: str, value: Any) -> str:
    """A text given as ``name``. Raises ``InvalidArguments`` when it is none, or cannot be kept."""
    if not isinstance(value, str):
        problem = f"{shown(value)} is not text"
    elif codec.ODD.search(value):
        problem = f"{shown(value)} holds NUL or half a surrogate pair, which cannot be stored"
    else:
        return value
    raise InvalidArguments(f"{name}: {problem}. {NOTHING}", {name: problem})


def placed(value: Any) -> str:
    """The name of a workspace. Raises ``InvalidArguments`` for one that nobody may choose."""
    found = said("workspace", value)
    if found == HOUSE:
        problem = f"{HOUSE} is no workspace that one may choose"
        raise InvalidArguments(f"workspace: {problem}. {NOTHING}", {"workspace": problem})
    return found


def counted(name: str, value: Any) -> int:
    """How many, given as ``name``. Raises ``InvalidArguments`` for less than one of them."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    problem = f"{shown(value)} is no whole number of 1 or more"
    raise InvalidArguments(f"{name}: {problem}. {NOTHING}", {name: problem})


def bound(job: Job[P, R], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a start as plain values, checked where the job is declared here."""
    if not isinstance(job, Job):
        raise TypeError(f"{job!r} is no job; declare it with @app.job, or use koken.Job('name')")
    return job.body.bind(args, kwargs)


def texts(job: Job[..., Any], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows of arguments as JSON texts; the first bad one is refused with its place."""
    found = []
    for place, row in enumerate(rows):
        try:
            found.append(codec.encode(bound(job, (), row), name="the arguments"))
        except InvalidArguments as error:
            raise InvalidArguments(f"row {place}: {error}", error.problems) from None
    return found


def check_many(job: Job[..., Any]) -> None:
    """Refuse options that name one run, of a start of many, by a ``TypeError``."""
    if job.options.idempotency_key is not None or job.options.logical_time is not None:
        raise TypeError("idempotency_key and logical_time name one run; start_many makes many")


def bound_for(
    transition: Transition, key: Any, reason: str, args: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of the job that a move starts, as plain values; its first gets the key."""
    if not isinstance(transition, Transition):
        raise TypeError(f"{transition!r} is no transition; machine.transition(…) makes one")
    job, argument = transition.start, transition.argument
    if job is None or argument is None:
        if args:
            problems = dict.fromkeys(args, "is given, but the move starts no job")
            raise invalid(f"move {transition.name!r}", problems, end="Nothing was moved.")
        return {}
    if argument in args:
        problems = {argument: "is the id of what is moved; give it once"}
        raise invalid(f"move {transition.name!r}", problems, end="Nothing was moved.")
    given = {argument: key, **args}
    if reason and "reason" in (job.body.argument_names or ()):
        given["reason"] = reason
    return bound(job, (), given)
