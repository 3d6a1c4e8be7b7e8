"""Which runs a page of a list shows: the newest that match, found by index and not by reading all.

Names become numbers first, and the numbers stand in the statement's text: so the planner knows
from its statistics how many runs they stand for. Instants become bounds of the runs' numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from koken.store.database import Transaction
from koken.views.moments import before
from koken.views.query import LARGEST_ID, Query

BACKWARDS = timedelta(hours=1)
"""How far the database's clock may ever have been set back; numbers follow it but for that."""
FEW = 100
"""Jobs that are looked through one by one; among the runs of more a match is not far."""
PLACE = """
select koken.now() as now, w.id as workspace,
       array(select j.id from koken.job j where j.workspace_id in (2, w.id) and {}) as jobs
  from koken.workspace w where w.name = ${}
"""
BORDER = """
with recursive halves as (
  select min(id) - 1 as low, max(id) + 1 as high from koken.run
  union all
  select case when r.id is null or r.created_at < $1 then h.middle else h.low end,
         case when r.id is null or r.created_at < $1 then h.high else r.id end
    from (select low, high, low + (high - low) / 2 as middle from halves where high - low > 1) h
    left join lateral (
      select r.id, r.created_at from koken.run r
       where r.id > h.low and r.id <= h.middle order by r.id desc limit 1) r on true)
select low, high from halves order by high - low limit 1
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a query looks: numbers for its names, and the time from which it counts."""

    now: datetime
    workspace: int
    jobs: tuple[int, ...] | None
    """None: all jobs."""


async def page(
    session: Transaction, query: Query, *, workspace: str, limit: int, end: int | None = None
) -> list[int]:
    """The numbers of the newest runs that match, at most ``limit``, all below ``end``."""
    place = await placed(session, query, workspace)
    if place is None or place.jobs == ():
        return []
    low, high = await between(session, query, place.now)
    if end is not None:
        high = min(high, end)
    where = (
        f"r.workspace_id = {place.workspace} and r.parent_id is null"
        f" and r.id > {low} and r.id < {high} and {query.text}"
    )
    text = newest(where, place.jobs, limit)
    return [row["id"] for row in await session.fetch_text(text, *query.runs.parameters)]


def newest(where: str, jobs: Sequence[int] | None, limit: int, columns: str = "r.id") -> str:
    """The statement for the newest runs of these jobs: of each job, and of those together.

    ``columns``: their numbers, or ``r.*``.
    """
    if jobs is None:
        return f"select {columns} from koken.run r where {where} order by r.id desc limit {limit}"
    if len(jobs) > FEW:
        numbers = ", ".join(map(str, jobs))
        return newest(f"r.job_id in ({numbers}) and {where}", None, limit, columns)
    parts = [newest(f"r.job_id = {job} and {where}", None, limit, columns) for job in jobs]
    every = " union all ".join(f"({part})" for part in parts)
    return f"select {columns} from ({every}) r order by r.id desc limit {limit}"


async def placed(session: Transaction, query: Query, workspace: str) -> Place | None:
    """The numbers of the workspace and of the jobs that are named; None where there is no such."""
    text = PLACE.format(query.jobs.text, len(query.jobs.parameters) + 1)
    found = await session.fetch_text(text, *query.jobs.parameters, workspace)
    if not found:
        return None
    jobs = tuple(found[0]["jobs"]) if query.jobs.clauses else None
    return Place(found[0]["now"], found[0]["workspace"], jobs)


async def between(session: Transaction, query: Query, now: datetime) -> tuple[int, int]:
    """The numbers between which the runs of a time lie; the exact times become conditions."""
    low, high = 0, LARGEST_ID
    for moment in query.since:
        instant = before(moment, now)
        query.runs.add("r.created_at >= {}", instant)
        low = max(low, (await border(session, instant, -BACKWARDS))[0])
    for moment in query.until:
        instant = before(moment, now)
        query.runs.add("r.created_at < {}", instant)
        high = min(high, (await border(session, instant, BACKWARDS))[1])
    return low, high


async def border(session: Transaction, instant: datetime, apart: timedelta) -> tuple[int, int]:
    """Two numbers next to each other, of which the first is before an instant, the other is not.

    Found by halving. Where no run is, all numbers are between them.
    """
    try:
        instant += apart
    except OverflowError:
        return 0, LARGEST_ID
    (found,) = await session.fetch_text(BORDER, instant)
    return (0, LARGEST_ID) if found["low"] is None else (found["low"], found["high"])
