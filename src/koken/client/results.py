"""What a step is resolved with, by the type of its result."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from koken.client.arguments import NOTHING
from koken.define.function import Function
from koken.define.job import Job
from koken.define.problems import by_path, invalid
from koken.define.registry import Registry
from koken.define.workflow import Workflow
from koken.model import codec
from koken.model.steps import ITEM


class NoResult:
    """Stands for a result that nobody gave; None is one."""

    def __repr__(self) -> str:
        return "no result"


NO_RESULT = NoResult()


def result_text(registry: Registry, job: str, step: str, result: Any, *, item: bool) -> str | None:
    """``result`` as JSON text, as the step would have returned it; None for ``NO_RESULT``.

    ``item``: it is that of one item. Raises ``InvalidArguments`` when it does not fit the step's
    annotation, where the program declares it.
    """
    if result is NO_RESULT:
        return None
    label = f"{job}.{step}"
    found = registry.jobs.get(job)
    known = found.steps.get(step) if isinstance(found, Workflow) else None
    if known is None:
        return plain_text(label, result)
    body = known.target or known.job
    if known.spec.each is None or item:
        return typed_text(label, body, result)
    if not isinstance(result, list):
        raise invalid(label, {"result": "is to be a list, one result for each item"}, end=NOTHING)
    return "[" + ",".join(typed_text(label, body, each) for each in result) + "]"


def typed_text(label: str, job: Job[..., Any], result: Any) -> str:
    """A value as JSON text, by the annotation of what returns it."""
    try:
        text = job.body.dump(result)
        form = job.body.result.form if isinstance(job.body, Function) else None
        if result is None and form is not None:
            form.load(None, name="the result")  # a body may return it whatever its hint says
        job.body.load(codec.decode(text))
    except ValidationError as error:
        told = "; ".join(by_path(error, about=label).values())
        raise invalid(label, {"result": told}, end=NOTHING) from None
    except (TypeError, codec.Unstorable) as error:
        raise invalid(label, {"result": str(error)}, end=NOTHING) from None
    return text


def plain_text(label: str, result: Any) -> str:
    """A value of which nothing is known, as JSON text."""
    try:
        return codec.encode(result, name="the result")
    except codec.Unstorable as error:
        raise invalid(label, {"result": str(error)}, end=NOTHING) from None


def step_of(name: str) -> tuple[str, bool]:
    """A step's name from its own or that of an item, and whether it is an item."""
    found = ITEM.fullmatch(name)
    return (found["step"], True) if found else (name, False)
