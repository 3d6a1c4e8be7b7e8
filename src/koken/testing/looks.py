"""What a test looks at: the steps of a run, the runs of a job."""

from __future__ import annotations

from typing import Any

from koken.model.run import Run
from koken.store.database import Database
from koken.views import runs, steps
from koken.views.reading import rows

ALL_OF = """
select r.id
  from koken.run r
  join koken.job j on j.id = r.job_id
  join koken.workspace w on w.id = r.workspace_id
 where j.name = $1 and w.name = $2 and r.step_no is null
 order by r.id limit $3
"""


async def states(db: Database, run: Run[Any], step: str) -> dict[str, str]:
    """How the steps of a run stand, by name, or the items of ``step``; then what undoes them."""
    if step:
        run_id = await steps.step_id(db, run, step)
        run = (await runs.get_many(db, [run_id]))[run_id]
    found = [*await steps.steps(db, run), *await steps.undone(db, run)]
    return {row.name: row.state.value if row.state else "blocked" for row in found}


async def all_of(db: Database, name: str, *, workspace: str, limit: int) -> list[Run[Any]]:
    """The runs of a job, those that others have started too; oldest first."""
    ids = [row["id"] for row in await rows(db, ALL_OF, name, workspace, limit)]
    found = await runs.get_many(db, ids)
    return [found[run_id] for run_id in ids]
