"""What people did, as it was recorded: who, what and why; to a run, or in a workspace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.plain import stamp
from koken.store.database import Database, Row
from koken.views.query import Conditions
from koken.views.reading import reading, rows

MOST = 1001
"""Rows at once: a page of the API, and one that tells whether there are more."""
COLUMNS = "e.id, e.at, e.verb, e.by, e.reason, e.detail::text as detail"
OF_RUN = f"""
select * from (
  select {COLUMNS} from koken.event e where e.run_id = $1 order by e.id desc limit $2) x
 order by id
"""
OF_RUN_FROM = f"""
select {COLUMNS} from koken.event e where e.run_id = $1 and e.id > $3 order by e.id limit $2
"""
# What concerns no workspace alone: a job or a queue that all of them use is everybody's business,
# the rest is told with ``common`` alone, whatever workspace is named.
OF_WORKSPACE = """
select x.id, x.at, x.verb, x.by, x.reason, x.detail::text as detail, x.run_id, w.name as workspace,
       j.name as job
  from ((select e.* from koken.event e
          where e.workspace_id = {workspace} and e.workspace_id <> 2 and {where}
          order by e.id desc limit {limit})
        union all
        (select e.* from koken.event e
          where e.workspace_id = 2 and {common} and {where}
          order by e.id desc limit {limit})) x
  join koken.workspace w on w.id = x.workspace_id
  left join koken.job j on j.id = x.job_id
 order by x.id desc
 limit {limit}
"""
SHARED = "(e.job_id is not null or e.detail ? 'queue')"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One thing that somebody did."""

    id: int
    at: datetime
    verb: str
    by: str
    reason: str | None
    detail: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "id": str(self.id),
            "at": stamp(self.at),
            "verb": self.verb,
            "by": self.by,
            "reason": self.reason,
            "detail": dict(self.detail),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedEvent(EventRow):
    """One thing that somebody did, and what it was about."""

    workspace: str
    """GLOBAL for what concerns no workspace alone."""
    job: str | None
    run_id: int | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            **EventRow.to_json(self),
            "workspace": self.workspace,
            "job": self.job,
            "run": None if self.run_id is None else str(self.run_id),
        }


async def of_run(db: Database, run_id: int, *, limit: int = 100) -> list[EventRow]:
    """The last things done to a run, oldest first."""
    return [event_of(row) for row in await rows(db, OF_RUN, run_id, limit)]


async def of_run_from(db: Database, run_id: int, *, after: int = 0, limit: int) -> list[EventRow]:
    """A page of what was done to a run, oldest first; ``after``: the last of the page before."""
    return [event_of(row) for row in await rows(db, OF_RUN_FROM, run_id, limit, after)]


def event_of(row: Row) -> EventRow:
    """An event from its row."""
    return EventRow(**{**dict(row), "detail": json.loads(row["detail"])})


async def of_workspace(
    db: Database,
    *,
    workspace: str,
    limit: int = 50,
    before: int | None = None,
    verb: Sequence[str] = (),
    by: Sequence[str] = (),
    job: Sequence[str] = (),
    run: int | None = None,
    text: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    common: bool = False,
) -> list[PlacedEvent]:
    """What was done in a workspace, newest first; ``before``: where the last page ended.

    Several values of one kind are alternatives; ``text`` is looked for in the reason. ``common``:
    also what concerns no workspace alone, beside the jobs and queues that all workspaces share.
    """
    where = Conditions()
    if before is not None:
        where.add("e.id < {}", before)
    for column, values in (("verb", verb), ("by", by)):
        if values:
            where.add(f"e.{column} = any({{}}::text[])", list(values))
    if job:
        where.add(
            "e.job_id = any(array(select o.id from koken.job o where o.name = any({}::text[])))",
            list(job),
        )
    if run is not None:
        where.add("e.run_id = {}", run)
    if text:
        where.add("position(lower({}) in lower(e.reason)) > 0", text)
    if since is not None:
        where.add("e.at >= {}", since)
    if until is not None:
        where.add("e.at < {}", until)
    async with reading(db) as session:
        place = await session.fetch_text(
            "select id from koken.workspace where name = $1", workspace
        )
        if not place:
            return []
        statement = OF_WORKSPACE.format(
            workspace=place[0]["id"],
            where=where.text,
            common="true" if common else SHARED,
            limit=min(limit, MOST),
        )
        found = await session.fetch_text(statement, *where.parameters)
    return [PlacedEvent(**{**dict(row), "detail": json.loads(row["detail"])}) for row in found]
