"""Runs for due times of the past, asked for over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from typing_extensions import override

from koken.client.arguments import counted, said
from koken.client.backfills import AsyncBackfills, instant
from koken.client.remoteasking import RemoteAsking, whole
from koken.define.checks import NAME
from koken.define.job import Job
from koken.errors import NotFound
from koken.model.backfill import Backfilled, BackfillPlan
from koken.model.plain import stamp


class RemoteBackfills(RemoteAsking, AsyncBackfills):
    """The verbs of ``AsyncBackfills`` over HTTP."""

    @override
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
        path, given = await self.asked_for(job, schedule, since, until, at_once)
        done = await self.write(path, given | {"reason": said("reason", reason)})
        return whole(Backfilled.from_json, done, "due")

    @override
    async def backfill_plan(
        self,
        job: Job[..., Any] | str,
        *,
        since: datetime,
        until: datetime,
        schedule: str = "",
        at_once: int = 1,
    ) -> BackfillPlan:
        path, given = await self.asked_for(job, schedule, since, until, at_once)
        return BackfillPlan.from_json(await self.foresee(path, given))

    async def asked_for(
        self,
        job: Job[..., Any] | str,
        schedule: str,
        since: datetime,
        until: datetime,
        at_once: int,
    ) -> tuple[str, dict[str, Any]]:
        """Where a backfill is asked for, and what is said there."""
        name = job.name if isinstance(job, Job) else said("job", job)
        number = await self.schedule_of(name, said("schedule", schedule))
        between = {
            "from": stamp(instant("since", since)),
            "to": stamp(instant("until", until)),
        }
        return f"schedules/{number}/backfills", between | {"at_once": counted("at_once", at_once)}

    @override
    async def schedules_of(self, job: str) -> list[tuple[int, str]]:
        if not NAME.fullmatch(job):
            raise NotFound(f"there is no job {job!r}; `koken jobs` lists them")
        found = await self.read(f"jobs/{job}")
        return [(int(each["id"]), each["name"]) for each in found["schedules"]]
