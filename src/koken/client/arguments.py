"""From a call to plain values: the arguments of starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from koken.define.job import Job
from koken.errors import InvalidArguments
from koken.model import codec

P = ParamSpec("P")
R = TypeVar("R")


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
