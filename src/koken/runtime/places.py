"""Which executor carries out a job: one of each kind for a worker, made when first needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from koken.define.job import Job
from koken.define.registry import Program
from koken.errors import DeclarationError
from koken.executors.base import Executor
from koken.executors.commandexecutor import CommandExecutor
from koken.executors.loop import LoopExecutor
from koken.executors.process import ProcessExecutor
from koken.executors.stopping import GRACE
from koken.executors.thread import ThreadExecutor


class Places:
    """The executors of a worker, by the name and settings that jobs ask for.

    ``address`` is where processes import the program from: ``module:name``.
    """

    grace = GRACE

    def __init__(self, program: Program, address: str) -> None:
        self.program = program
        self.address = address
        self.open: dict[str, Executor] = {}
        self.by_job: dict[str, Executor] = {}
        self.makers: dict[str, Callable[[], Executor]] = {
            "thread": ThreadExecutor,
            "loop": LoopExecutor,
            "process": lambda: ProcessExecutor(self.address),
            "command": CommandExecutor,
        }

    def of(self, job: Job[..., Any]) -> Executor:
        """The executor for a job."""
        found = self.by_job.get(job.name)
        if found is None:
            found = self.by_job[job.name] = self.make(job)
        return found

    def make(self, job: Job[..., Any]) -> Executor:
        """The executor that the job names, shared by all jobs that name it."""
        name = job.spec.executor
        if name not in self.open:
            maker = self.makers.get(name)
            if maker is None:
                known = ", ".join(self.makers)
                raise DeclarationError(
                    f"job {job.name!r} wants executor {name!r}; there are {known}"
                )
            self.open[name] = maker()
        return self.open[name]

    async def close(self) -> None:
        """Close all of them."""
        for executor in self.open.values():
            await executor.close()
