"""What numbers in the database are called: jobs, workspaces, schedules, remembered by a worker."""

from __future__ import annotations

from collections.abc import Sequence

from koken.engine.claim import Claimed
from koken.store.database import Database
from koken.views import names


class Names:
    """Names by number; ``learn`` asks for those that a batch of runs needs.

    A name stays what it is and is asked for once; a schedule's expression may be edited, and is
    asked for with each batch that comes of it.
    """

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
            self.jobs |= await names.jobs(self.db, jobs)
        if {run.workspace_id for run in runs} - self.workspaces.keys():
            self.workspaces |= await names.workspaces(self.db)
        schedules = {run.schedule_id for run in runs if run.schedule_id is not None}
        if schedules:
            self.schedules |= await names.expressions(self.db, schedules)

    def job(self, job_id: int) -> str:
        """A job's name."""
        return self.jobs[job_id]

    def workspace(self, workspace_id: int) -> str:
        """A workspace's name."""
        return self.workspaces[workspace_id]

    def schedule(self, schedule_id: int | None) -> str | None:
        """A schedule's expression."""
        return None if schedule_id is None else self.schedules.get(schedule_id)
