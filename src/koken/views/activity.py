"""What has happened since the last look: for those who watch everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from koken.model.run import Run
from koken.store.database import Database
from koken.views.reading import rows
from koken.views.runs import COLUMNS, TABLES, run_of

NEWEST = "select coalesce(max(id), 0) as id from koken.run"
CHANGED = f"""
select {COLUMNS} from {TABLES}
 where r.parent_id is null and r.id in (
   select id from koken.run where id > $1
   union all (select id from koken.run where state = 'ready' limit $3)
   union all (select id from koken.run where state = 'running' limit $3)
   union all select unnest($2::bigint[]))
 order by r.id
 limit $3
"""


async def newest(db: Database) -> int:
    """The number of the newest run; 0 when there is none."""
    return int((await rows(db, NEWEST))[0]["id"])


async def changed(
    db: Database, after: int, known: Sequence[int], *, limit: int = 500
) -> list[Run[Any]]:
    """Runs above the number ``after``, those at work or ready, and the ``known``; oldest first."""
    return [run_of(row) for row in await rows(db, CHANGED, after, list(known), limit)]
