"""The jobs of a program, by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import replace
from itertools import pairwise
from typing import Any, Protocol

from koken.define.job import Job
from koken.define.spelling import did_you_mean
from koken.define.workflow import Workflow
from koken.errors import DeclarationError, NotFound
from koken.model import graph
from koken.model.job import JobSpec

Lifespan = Callable[[], AbstractContextManager[Any] | AbstractAsyncContextManager[Any]]
"""Gives what a worker enters before its first body and leaves after its last."""


class Registry:
    """Name → job, in the order of declaration."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job[..., Any]] = {}
        self.machines: set[str] = set()
        self.exclusive: set[str] = set()
        """Jobs whose runs share their subject with no other, as machines say."""

    def add(self, job: Job[..., Any]) -> None:
        """Take in ``job``. Raises ``DeclarationError`` when its name is taken."""
        other = self.jobs.get(job.name)
        if other is not None:
            raise DeclarationError(
                f"job {job.name!r} is declared twice: {other.place} and {job.place}. "
                "Give one of them another name."
            )
        self.jobs[job.name] = job

    def get(self, name: str) -> Job[..., Any]:
        """The job called ``name``. Raises ``NotFound``, with the nearest name that there is."""
        try:
            return self.jobs[name]
        except KeyError:
            raise NotFound(self.unknown(name)) from None

    def spec(self, job: Job[..., Any]) -> JobSpec:
        """A job as data, with what machines say of it."""
        if job.name in self.exclusive:
            return replace(job.spec, subject_exclusive=True)
        return job.spec

    def specs(self) -> list[JobSpec]:
        """All jobs as data."""
        return [self.spec(job) for job in self]

    def part(self, job: str, step: str | None, undo: bool) -> Job[..., Any] | None:
        """The job to carry for a run of ``job``, of one of its steps, or of a step's undo.

        None when the program does not declare it.
        """
        found = self.jobs.get(job)
        if step is None:
            return found
        part = found.steps.get(step) if isinstance(found, Workflow) else None
        if part is None:
            return None
        return part.undo if undo else part.job

    def check(self) -> None:
        """Raise ``DeclarationError`` when the steps of a workflow do not fit together."""
        for job in self.jobs.values():
            job.body.complete(job.declared)
        self.refuse_nesting()

    def refuse_nesting(self) -> None:
        """Refuse workflows of which each starts the other: every run would hold one more."""
        flows = {name: job for name, job in self.jobs.items() if isinstance(job, Workflow)}
        starts = {
            name: {
                step.target.name: step.job.name
                for step in flow.steps.values()
                if step.target is not None and step.target.name in flows
            }
            for name, flow in flows.items()
        }
        way = graph.cycle(starts)[::-1]
        if way:
            steps = (f"{starts[one][other]} starts {other}" for one, other in pairwise(way))
            raise DeclarationError(
                f"workflows nest without end: {', '.join(steps)}. Take one of these steps out, or "
                "start its job from a function."
            )

    def unknown(self, name: str) -> str:
        """The message for a name that no job has."""
        if not self.jobs:
            return f"there is no job {name!r}: the program declares none. Are its modules imported?"
        return f"there is no job {name!r}.{did_you_mean(name, self.jobs)}"

    def __iter__(self) -> Iterator[Job[..., Any]]:
        return iter(self.jobs.values())

    def __len__(self) -> int:
        return len(self.jobs)

    def __contains__(self, name: object) -> bool:
        return name in self.jobs


class Program(Protocol):
    """What a client and a worker need of an ``App``."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The program's name; may be empty."""

    @property
    @abstractmethod
    def registry(self) -> Registry:
        """Its jobs."""

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Its settings as given; ``config`` checks them."""

    @property
    @abstractmethod
    def modules(self) -> Sequence[str]:
        """The modules that declare its jobs."""

    @property
    @abstractmethod
    def lifespan(self) -> Lifespan | None:
        """What a worker enters around all bodies."""
