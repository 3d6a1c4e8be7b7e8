"""Runs for due times of the past, for a program that blocks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from koken.client.backfills import AsyncBackfills
from koken.client.portal import Portal
from koken.define.job import Job
from koken.model.backfill import Backfilled, BackfillPlan


class Backfills:
    """As ``AsyncBackfills``."""

    portal: Portal
    awaiting: AsyncBackfills

    def backfill(
        self,
        job: Job[..., Any] | str,
        *,
        since: datetime,
        until: datetime,
        schedule: str = "",
        at_once: int = 1,
        reason: str = "",
    ) -> Backfilled:
        """As ``AsyncClient.backfill``."""
        work = self.awaiting.backfill(
            job, since=since, until=until, schedule=schedule, at_once=at_once, reason=reason
        )
        return self.portal.call("backfill", work)

    def backfill_plan(
        self,
        job: Job[..., Any] | str,
        *,
        since: datetime,
        until: datetime,
        schedule: str = "",
        at_once: int = 1,
    ) -> BackfillPlan:
        """As ``AsyncClient.backfill_plan``."""
        work = self.awaiting.backfill_plan(
            job, since=since, until=until, schedule=schedule, at_once=at_once
        )
        return self.portal.call("backfill_plan", work)
