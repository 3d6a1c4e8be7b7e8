"""Jobs by what a tagged request calls them: their name, or the type that they declare."""

from __future__ import annotations

from koken.store.database import Database
from koken.views.reading import rows

CALLED = """
select j.name, v.spec ->> 'type' as type
  from koken.job j
  join koken.job_version v on v.id = j.version_id
  join koken.workspace w on w.name = $1
 where j.workspace_id in (2, w.id) and j.retired_at is null
 order by j.name
"""


async def called(db: Database, wanted: str, *, workspace: str) -> tuple[list[str], list[str]]:
    """The job of that name, else the jobs of that type; and all names and types there are."""
    found = await rows(db, CALLED, workspace)
    known = [row["name"] for row in found] + [row["type"] for row in found if row["type"]]
    if any(row["name"] == wanted for row in found):
        return [wanted], known
    return [row["name"] for row in found if row["type"] == wanted], known
