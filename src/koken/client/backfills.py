"""Runs for due times of the past: what a program asks for, and the schedule that it means."""

from __future__ import annotations

from abc import abstractmethod
from datetime import datetime
from typing import Any

from koken.client.arguments import counted, said
from koken.client.link import Link
from koken.define.job import Job
from koken.engine import backfill
from koken.engine.backfill import Order
from koken.errors import InvalidArguments, NotFound, Refused
from koken.model import zones
from koken.model.backfill import Backfilled, BackfillPlan
from koken.views import catalog, ticks


class AsyncBackfills:
    """The verbs that start runs for due times which had none."""

    link: Link
    workspace: str

    @property
    @abstractmethod
    def who(self) -> str:
        """Who acts."""

    @abstractmethod
    def alone(self, verb: str) -> None:
        """Refuse a verb that has a transaction of its own inside a caller's, by a TypeError."""

    async def backfill(
        self,
        job: Job[..., Any] | str,
        *,
        since: datetime,
        until: datetime,
        schedule: str = "",
        at_once: int = 1,
        reason: str = "",
    ) -> Backfilled:
        """Start a run for each due time from ``since`` on and before ``until`` that has had none.

        ``schedule`` is the name of one, where the job has several; ``at_once`` is how many of the
        runs go together, of a job whose runs may. Each has its due time as its logical time, and
        the schedule's arguments. A due time gets one run, however often one asks. Raises
        ``NotFound``, ``InvalidArguments`` and ``Refused``; then nothing was started.
        """
        self.alone("backfill")
        order = await self.backfilling(job, schedule, since, until, at_once, reason)
        return await backfill.backfill(self.link.db, order, keep=self.link.config.keep["ticks"])

    async def backfill_plan(
        self,
        job: Job[..., Any] | str,
        *,
        since: datetime,
        until: datetime,
        schedule: str = "",
        at_once: int = 1,
    ) -> BackfillPlan:
        """What ``backfill`` would do now, without doing it; raises what it would raise."""
        self.alone("backfill_plan")
        order = await self.backfilling(job, schedule, since, until, at_once, "")
        return await backfill.plan(self.link.db, order, keep=self.link.config.keep["ticks"])

    async def backfilling(
        self,
        job: Job[..., Any] | str,
        schedule: str,
        since: datetime,
        until: datetime,
        at_once: int,
        reason: str,
    ) -> Order:
        """What is asked for, with the number of the schedule."""
        name = job.name if isinstance(job, Job) else said("job", job)
        return Order(
            schedule_id=await self.schedule_of(name, said("schedule", schedule)),
            workspace=self.workspace,
            since=instant("since", since),
            until=instant("until", until),
            at_once=counted("at_once", at_once),
            by=self.who,
            reason=said("reason", reason) or None,
        )

    async def schedule_of(self, job: str, name: str) -> int:
        """The number of a job's schedule; without a name of the only one."""
        found = await self.schedules_of(job)
        if not found:
            raise Refused(f"job {job!r} has no schedule, so nothing was ever due", what=job)
        chosen = [number for number, known in found if not name or known == name]
        names = ", ".join(known for _, known in found)
        if not chosen:
            raise NotFound(f"{job} has no schedule {name!r}; it has {names}")
        if len(chosen) > 1:
            raise InvalidArguments(
                f"{job} has {len(found)} schedules; say which: {names}",
                {"schedule": f"is one of {names}"},
            )
        return chosen[0]

    async def schedules_of(self, job: str) -> list[tuple[int, str]]:
        """The schedules of a job: their numbers and names. Raises ``NotFound``."""
        found = await catalog.schedules(self.link.views, workspace=self.workspace, job=job)
        if not found:
            await ticks.of_job(self.link.views, job, workspace=self.workspace, limit=1)
        return [(row.id, row.name) for row in found]


def instant(name: str, value: datetime) -> datetime:
    """An instant with its zone, in UTC. Raises ``InvalidArguments``."""
    try:
        return zones.within_years(zones.in_utc(value, name=name))
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidArguments(f"{name}: {error}", {name: str(error)}) from None
