"""What a program that awaits looks at: runs, their steps and lines, how they end."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import Any

from typing_extensions import TypeVar

from koken.client.arguments import NOTHING, counted, said
from koken.client.link import Link
from koken.define.problems import shown
from koken.define.registry import Registry
from koken.errors import InvalidArguments, NotFound, NotShown, RunCancelled, RunFailed, RunSkipped
from koken.model.duration import Duration, seconds
from koken.model.run import Run
from koken.model.states import State
from koken.views import logs, runs
from koken.views.logs import LogLine
from koken.views.steprows import StepRow
from koken.views.steps import steps
from koken.views.why import Why, why

R = TypeVar("R", default=Any)
FIRST_LOOK = 0.01
LONGEST_LOOK = 0.5
"""Seconds between two looks at a run that is waited for."""


def number(run: Run[Any] | int | str) -> int | str:
    """What names a run: a snapshot, an id, or a job's name for its last run."""
    if isinstance(run, Run):
        return run.id
    if isinstance(run, int) and not isinstance(run, bool):
        return run
    if not isinstance(run, str):
        problem = f"{shown(run)} is no run: neither a snapshot, nor a number, nor a job's name"
        raise InvalidArguments(f"run: {problem}. {NOTHING}", {"run": problem})
    return said("run", run)


def page(query: str, limit: int, before: int | None) -> tuple[str, int, int | None]:
    """What a page of runs is asked for with. Raises ``InvalidArguments``."""
    if before is not None:
        counted("before", before)
    return said("query", query), min(counted("limit", limit), runs.MOST), before


class AsyncLooks:
    """The verbs that change nothing."""

    link: Link
    workspace: str

    @property
    @abstractmethod
    def registry(self) -> Registry:
        """The jobs whose types are known."""

    async def get(self, run: Run[R] | int | str) -> Run[R]:
        """A fresh snapshot of a run, or of the last run of the job of that name.

        Raises ``NotFound``.
        """
        return await runs.get(self.link.views, number(run), workspace=self.workspace)

    async def find(
        self, query: str = "", *, limit: int = 50, before: int | None = None
    ) -> list[Run[Any]]:
        """The newest runs that match, such as ``"job:x state:failed since:2h"``.

        At most 1,000; ``before`` is the id of the last one of the page before.
        """
        asked, most, end = page(query, limit, before)
        return await runs.find(
            self.link.views, asked, workspace=self.workspace, limit=most, before=end
        )

    async def logs(self, run: Run[Any] | int | str, *, limit: int = 1000) -> list[LogLine]:
        """The last lines that a run has printed and logged, oldest first."""
        most = counted("limit", limit)
        found = await self.get(run)
        return await logs.tail(self.link.views, found.id, limit=most)

    async def steps(self, run: Run[Any] | int | str) -> list[StepRow]:
        """The steps of a workflow's run as they stand; of a step's run its items."""
        return await steps(self.link.views, await self.get(run))

    async def why(self, run: Run[Any] | int | str) -> Why:
        """Why a run stands as it does: what it waits for, and who stands in its way."""
        return await why(self.link.views, await self.get(run), self.link.config.timing)

    async def wait(self, run: Run[R] | int | str, timeout: Duration | None = None) -> Run[R]:
        """Until a run has ended; returns its last snapshot. Raises ``TimeoutError``."""
        run_id = (await self.get(run)).id
        limit = None if timeout is None else seconds(timeout, name="timeout")
        try:
            async with asyncio.timeout(limit):
                await self.ended(run_id)
        except TimeoutError:
            raise TimeoutError(f"run {run_id} has not ended within {limit:g} s") from None
        return await self.get(run_id)

    async def ended(self, run_id: int) -> None:
        """Look until the run has ended, at first often."""
        pause = FIRST_LOOK
        while True:
            state = await self.state_of(run_id)
            if state is None or state.ended:
                return
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LONGEST_LOOK)

    async def state_of(self, run_id: int) -> State | None:
        """Only the state of a run; None for one that is gone."""
        return (await runs.states(self.link.views, [run_id])).get(run_id)

    async def result(self, run: Run[R], timeout: Duration | None = None) -> R:
        """The result of a run, typed, once it has ended.

        Raises ``RunFailed``, ``RunSkipped`` or ``RunCancelled``, and ``TimeoutError``; over HTTP
        ``NotShown`` for one with a secret in it.
        """
        return self.typed(await self.wait(run, timeout))

    def typed(self, run: Run[R]) -> R:
        """The result of an ended run by its job's annotation."""
        about = f"run {run.id} of {run.job}"
        if run.state is State.FAILED:
            raise RunFailed(f"{about} failed: {run.reason}", run)
        if run.state is State.SKIPPED:
            raise RunSkipped(f"{about} was skipped: {run.reason}", run)
        if run.state is State.CANCELLED:
            raise RunCancelled(f"{about} was cancelled: {run.reason}", run)
        places = [each for each in run.masked if not each.startswith("args.")]
        if places:
            raise NotShown(
                f"{about}: {', '.join(places)} is a secret, which no console tells, so its result "
                "is not whole. Ask a client that has the database's address, or give the field "
                "another name: `mask` in the settings says which are secrets",
                places,
            )
        try:
            job = self.registry.get(run.job)
        except NotFound:
            return run.result  # type: ignore[no-any-return]  # a job of another program: plain values
        return job.body.load(run.result)  # type: ignore[no-any-return]  # typed by the job's own hint
