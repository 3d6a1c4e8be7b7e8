"""Runs for due times of the past, asked for over HTTP."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from typing_extensions import override

from koken.client.arguments import said
from koken.client.backfills import AsyncBackfills, instant
from koken.define.job import Job
from koken.model.backfill import Backfilled, BackfillPlan
from koken.model.plain import stamp


class RemoteBackfills(AsyncBackfills):
    """The verbs of ``AsyncBackfills`` over HTTP."""

    @abstractmethod
    async def read(self, path: str, **parameters: Any) -> Any:
        """What stands at a path."""

    @abstractmethod
    async def write(self, path: str, plain: Mapping[str, Any], **how: Any) -> Any:
        """The answer to a change."""

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
        return Backfilled.from_json(
            await self.write(path, given | {"reason": said("reason", reason)})
        )

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
        return BackfillPlan.from_json(await self.write(f"{path}?dry_run=1", given, once=False))

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
        return f"schedules/{number}/backfills", between | {"at_once": at_once}

    @override
    async def schedules_of(self, job: str) -> list[tuple[int, str]]:
        found = await self.read(f"jobs/{quote(job, safe='')}")
        return [(int(each["id"]), each["name"]) for each in found["schedules"]]
