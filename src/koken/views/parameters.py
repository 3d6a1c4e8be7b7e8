"""What a job that another program declares takes as its arguments."""

from __future__ import annotations

from koken.store.database import Database
from koken.views.reading import rows

PARAMETERS = """
select (v.spec -> 'parameters')::text as parameters
  from koken.job j
  join koken.job_version v on v.id = j.version_id
  join koken.workspace w on w.name = $2
 where j.name = $1 and j.workspace_id in (2, w.id)
 order by j.workspace_id = w.id desc limit 1
"""


async def parameters(db: Database, job: str, workspace: str) -> str | None:
    """The JSON Schema of a job's arguments as text, ``{}`` where they are free; None: no such job.

    It is that of the version with which a run would start now.
    """
    found = await rows(db, PARAMETERS, job, workspace)
    return (found[0]["parameters"] or "{}") if found else None
