"""Bodies as a test wants them played, where a worker asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typing_extensions import override

from koken.define.job import Job
from koken.define.registry import Registry
from koken.define.workflow import Workflow
from koken.executors.base import Answer, Assignment, Executor, Host
from koken.executors.targets import stand_in
from koken.testing.cast import Cast
from koken.testing.doubles import at_hand, played


class Playbill(Registry):
    """The jobs of a program; a workflow for which something stands in has no steps."""

    def __init__(self, cast: Cast) -> None:
        super().__init__()
        self.jobs = cast.registry.jobs
        self.cast = cast

    @override
    def part(self, job: str, step: str | None, undo: bool) -> Job[..., Any] | None:
        found = super().part(job, step, undo)
        if isinstance(found, Workflow) and self.cast.plays(found.name):
            return played(found, lambda: None)
        return found


class Stagehand:
    """An executor that lets whoever stands in for a body be carried out in its place."""

    def __init__(self, cast: Cast, places: Callable[[Job[..., Any]], Executor]) -> None:
        self.cast = cast
        self.places = places
        self.executor: Executor | None = None

    @property
    def name(self) -> str:
        """The place where the body goes."""
        return "" if self.executor is None else self.executor.name

    async def carry_out(self, job: Job[..., Any], assignment: Assignment, host: Host) -> Answer:
        """As ``Executor.carry_out``; once for each body."""
        other = job if assignment.undo else self.played(job)
        self.executor = self.places(other)
        token = stand_in.set(self.cast.inner)
        try:
            return await self.executor.carry_out(other, assignment, host)
        finally:
            stand_in.reset(token)

    def played(self, job: Job[..., Any]) -> Job[..., Any]:
        """The job as it is played this time."""
        part = self.cast.part(job.name)
        if part is not None:
            return played(job, part.fn)
        return at_hand(job) if self.cast.plays_inner else job

    async def stop(self, run_id: int, why: str) -> None:
        """As ``Executor.stop``."""
        if self.executor is not None:
            await self.executor.stop(run_id, why)

    def goes_on(self, run_id: int, lease: int) -> bool:
        """As ``Executor.goes_on``."""
        return self.executor is not None and self.executor.goes_on(run_id, lease)

    async def close(self) -> None:
        """The places are closed by whoever made them."""
