"""Workflows and their steps as they were declared, before names are looked up.

Steps may be declared in any order, so what a step says of others stays a name until the whole
workflow is asked for; see ``wiring``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from koken.define.condition import Condition
from koken.define.function import Function
from koken.define.job import Job
from koken.define.signature import Parameter
from koken.model.accept import Accept
from koken.model.steps import Join, StepSpec, WindowMissed


@dataclass(slots=True, kw_only=True)
class Draft:
    """One step; other steps are called by their names."""

    name: str
    kind: str
    job: Job[..., Any]
    """Carries its body."""
    target: Job[..., Any] | None
    """The job that it starts, if it does."""
    after: tuple[str, ...]
    inputs: Mapping[str, str]
    each: tuple[str, str] | None
    """The parameter that receives an item, and the step or argument that is the list."""
    at_once: int | None
    accept: Accept | None
    condition: Condition | None
    join: Join
    gate: str | None
    window: str | None
    window_missed: WindowMissed
    undo: Job[..., Any] | None = None


@dataclass(slots=True)
class Sketch:
    """One workflow: its arguments, the options that it was given, its steps so far."""

    name: str
    arguments: Mapping[str, Parameter]
    given: Mapping[str, Any]
    drafts: dict[str, Draft] = field(default_factory=dict)
    functions: dict[Callable[..., Any], Function] = field(default_factory=dict)
    """What was read of functions; many steps may share one."""
    specs: dict[str, StepSpec] | None = None
    """The steps as data; None since something was added."""
