"""What numbers in the database are called: jobs, workspaces, schedules, remembered by a worker."""

from __future__ import annotations

from collections.abc import Sequence

from koken.engine.claim import Claimed
from koken.store.database import Database
from koken.store.statements import Statement

JOB_NAMES = Statement("job_names")
WORKSPACE_NAMES = Statement("workspace_names")
SCHEDULE_OF = Statement("schedule_of")


class Names:
    """Names by number; ``learn`` asks for those that a batch of runs needs."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.jobs: dict[int, str] = {}
        self.workspaces: dict[int, str] = {1: "default", 2: "GLOBAL"}
        self.schedules: dict[int, str] = {}
        self.queues: dict[int, str] = {}
        """Those that this worker serves."""

    async def learn(self, runs: Sequence[Claimed]) -> None:
        """Know all names that these runs need."""
        jobs = {run.job_id for run in runs} - self.jobs.keys()
        if jobs:
            rows = await self.db.fetch(JOB_NAMES, list(jobs))
            self.jobs |= {row["id"]: row["name"] for row in rows}
        if {run.workspace_id for run in runs} - self.workspaces.keys():
            rows = await self.db.fetch(WORKSPACE_NAMES)
            self.workspaces |= {row["id"]: row["name"] for row in rows}
        schedules = {run.schedule_id for run in runs} - self.schedules.keys() - {None}
        if schedules:
            rows = await self.db.fetch(SCHEDULE_OF, list(schedules))
            self.schedules |= {row["id"]: row["expression"] for row in rows}

    def job(self, job_id: int) -> str:
        """A job's name."""
        return self.jobs[job_id]

    def workspace(self, workspace_id: int) -> str:
        """A workspace's name."""
        return self.workspaces[workspace_id]

    def schedule(self, schedule_id: int | None) -> str | None:
        """A schedule's expression."""
        return None if schedule_id is None else self.schedules.get(schedule_id)
