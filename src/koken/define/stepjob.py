"""The job behind a step, which carries its body: ``nightly.table``, and ``nightly.table.undo``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from koken.define import checks, operation
from koken.define.body import Body
from koken.define.draft import Sketch
from koken.define.function import Function
from koken.define.job import Job
from koken.define.operation import Operation
from koken.define.stepoptions import OF_ITS_JOB, OF_JOBS
from koken.errors import DeclarationError
from koken.model.policy import Effect

DEFAULTS = ("queue", "priority", "max_attempts", "backoff", "never_retry", "timeout")
"""What a workflow says for all its steps."""
DEFAULTS_OF_JOBS = ("queue", "priority")
"""The part of it that holds for a step that starts a job, which says the rest itself."""


class Start(Body):
    """The start of a job, as the body of a step: its arguments and its result are the job's."""

    usual_executor = "loop"

    def __init__(self, job: Job[..., Any]) -> None:
        self.job = job
        self.label = job.name
        self.description = job.declared.description
        self.parameters = job.body.parameters
        self.defaults = job.body.defaults
        self.required = job.body.required

    def load(self, plain: Any) -> Any:
        """The job's result from plain JSON values."""
        return self.job.body.load(plain)


def step_job(
    sketch: Sketch, target: Any, name: str, chosen: Mapping[str, Any]
) -> tuple[str, Job[..., Any]]:
    """The kind of a step and the job that carries out ``target``.

    Raises ``DeclarationError`` when the step cannot be carried out as it is declared.
    """
    label = f"{sketch.name}.{name}"
    kind, body = body_of(sketch, target, label)
    if kind == "job":
        refuse_of_its_job(target, chosen)
    wanted = inherited(sketch.given, kind, chosen) | of_jobs(chosen)
    items = tuple(chosen.get("each", ()))
    return kind, Job(label, body=body, given=wanted, keyed=[*sketch.arguments, *items])


def undo_job(sketch: Sketch, target: Any, name: str, chosen: Mapping[str, Any]) -> Job[..., Any]:
    """The job that undoes a step. Raises ``DeclarationError`` when it cannot."""
    label = f"{sketch.name}.{name}.undo"
    kind, body = body_of(sketch, target, label)
    if kind == "job":
        raise DeclarationError(
            f"{target.name} is a job, and an undo is a function. Write one that does the same"
        )
    return Job(label, body=body, given=inherited(sketch.given, kind, chosen) | of_jobs(chosen))


def body_of(sketch: Sketch, target: Any, label: str) -> tuple[str, Body]:
    """What kind of step ``target`` makes, and its body."""
    if isinstance(target, Job):
        return "job", Start(target).named(label)
    if isinstance(target, Operation):
        return "operation", Function(operation.body_of(target), label=label)
    if isinstance(target, Body):
        return type(target).__name__.lower(), target.named(label)
    known = sketch.functions.get(target) if inspect.isroutine(target) else None
    if known is None:
        known = sketch.functions[target] = Function(target, label=label)
        return "function", known
    return "function", known.named(label)


def refuse_of_its_job(job: Job[..., Any], chosen: Mapping[str, Any]) -> None:
    """Refuse options that a job says of itself."""
    for option in OF_ITS_JOB:
        if option in chosen:
            raise DeclarationError(
                f"{option} belongs to the job {job.name}, which this step starts. Set it there"
            )


def of_jobs(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a step has in common with a job."""
    return {option: chosen[option] for option in OF_JOBS if option in chosen}


def inherited(given: Mapping[str, Any], kind: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What the workflow says for all its steps."""
    names = DEFAULTS_OF_JOBS if kind == "job" else DEFAULTS
    found = {option: given[option] for option in names if option in given}
    unsafe = "effect" in chosen and checks.effect(chosen["effect"]) is Effect.UNSAFE
    if "max_infra_attempts" in given and not unsafe:
        found["max_infra_attempts"] = given["max_infra_attempts"]
    return found
