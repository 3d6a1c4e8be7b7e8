"""Jobs by what a tagged request calls them: their name, or the type that they declare."""

from __future__ import annotations

from koken.store.database import Database
from koken.views.reading import rows

NAMED = """
select j.name
  from koken.job j join koken.workspace w on w.name = $2
 where j.name = $1 and j.workspace_id in (2, w.id) and j.retired_at is null
"""
OF_TYPE = """
select j.name
  from koken.job_version v
  join koken.job j on j.id = v.job_id and j.version_id = v.id
  join koken.workspace w on w.name = $2
 where v.spec ->> 'type' = $1 and v.spec ->> 'type' <> ''
   and j.workspace_id in (2, w.id) and j.retired_at is null
 order by j.name
"""
KNOWN = """
select j.name, v.spec ->> 'type' as type
  from koken.job j
  join koken.job_version v on v.id = j.version_id
  join koken.workspace w on w.name = $1
 where j.workspace_id in (2, w.id) and j.retired_at is null
"""


async def is_job(db: Database, name: str, *, workspace: str) -> bool:
    """Whether there is a job of that name."""
    return bool(await rows(db, NAMED, name, workspace))


async def of_type(db: Database, wanted: str, *, workspace: str) -> list[str]:
    """The jobs that declare that type."""
    return list(dict.fromkeys(row["name"] for row in await rows(db, OF_TYPE, wanted, workspace)))


async def known(db: Database, *, workspace: str) -> set[str]:
    """All that a request may call: the names of jobs, and their types."""
    found = await rows(db, KNOWN, workspace)
    return {text for row in found for text in (row["name"], row["type"]) if text}
