"""How many runs match a query, by state: exactly where they are few, of the newest where many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from koken.model.run import Run
from koken.store.database import Database, Transaction
from koken.views.pages import between, newest, placed
from koken.views.query import LARGEST_ID, parse
from koken.views.reading import reading
from koken.views.runs import THESE, run_of
from koken.views.standings import STANDING, Standing

LOOKED = 10_000
"""Of so many of the newest runs states are counted."""
APART = 4
"""Jobs whose runs are counted one by one; of more together."""
REACH = 100_000
"""Numbers that are looked through at once for runs that match."""
STATES = f"""
select {STANDING} as standing, count(*) as seen, count(*) filter (where {{where}}) as n,
       count(*) filter (where {{whole}}) as matching
  from ({{newest}}) r
 group by 1
"""
LAST = "select coalesce(max(id), 0) as id from koken.run"
PAUSED = "select q.name from koken.queue q where q.paused_at is not null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """How many runs match."""

    states: Mapping[Standing, int]
    """By how they stand, whatever the query says of that."""
    matching: int
    """With what it says of that."""
    whole: bool
    """Whether all runs were looked at, and not only the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Runs that match, the newest first."""

    runs: list[Run[Any]]
    older: int | None
    """Where the next page begins; None where there is none."""
    looked_from: int | None
    """Where looking has stopped before the page was full; None where it was, or all was seen."""
    paused: frozenset[str]
    """Queues that are paused."""


async def facets(db: Database, text: str, *, workspace: str) -> Facets:
    """By state. Raises ``InvalidArguments`` for a bad query."""
    async with reading(db) as session:
        return await facets_in(session, text, workspace=workspace)


async def facets_in(session: Transaction, text: str, *, workspace: str) -> Facets:
    """As ``facets``."""
    query = parse(text)
    place = await placed(session, query, workspace)
    if place is None or place.jobs == ():
        return Facets(states={}, matching=0, whole=True)
    low, high = await between(session, query, place.now)
    jobs, cut = place.jobs, False
    where = f"r.workspace_id = {place.workspace} and r.parent_id is null and r.id < {high}"
    if jobs is not None and len(jobs) > APART:  # so many of each would be too many together
        where += f" and r.job_id in ({', '.join(map(str, jobs))})"
        (last,) = await session.fetch_text(LAST)
        jobs, cut = None, last["id"] - REACH > low
        low = max(low, last["id"] - REACH)
    some = newest(f"{where} and r.id > {low}", jobs, LOOKED, "r.*")
    counted = STATES.format(newest=some, where=query.runs.text, whole=query.text)
    rows = await session.fetch_text(counted, *query.runs.parameters)
    return Facets(
        states={Standing(row["standing"]): row["n"] for row in rows if row["n"]},
        matching=sum(row["matching"] for row in rows),
        whole=not cut and sum(row["seen"] for row in rows) < LOOKED,
    )


async def page(
    db: Database, text: str, *, workspace: str, limit: int, before: int | None = None
) -> Page:
    """A page of runs, found among so many numbers that it comes quickly whatever is asked.

    Raises ``InvalidArguments`` for a bad query.
    """
    async with reading(db) as session:
        return await page_in(session, text, workspace=workspace, limit=limit, before=before)


async def page_in(
    session: Transaction, text: str, *, workspace: str, limit: int, before: int | None = None
) -> Page:
    """As ``page``."""
    query = parse(text)
    narrowed = query.narrowed
    place = await placed(session, query, workspace)
    if place is None or place.jobs == ():
        return Page(runs=[], older=None, looked_from=None, paused=frozenset())
    low, high = await between(session, query, place.now)
    high = min(high, before or LARGEST_ID)
    (last,) = await session.fetch_text(LAST)
    reach = min(high, last["id"] + 1) - REACH
    cut = narrowed and reach > low
    where = (
        f"r.workspace_id = {place.workspace} and r.parent_id is null"
        f" and r.id > {reach if cut else low} and r.id < {high} and {query.text}"
    )
    text = newest(where, place.jobs, limit + 1)
    ids = [row["id"] for row in await session.fetch_text(text, *query.runs.parameters)]
    rows = await session.fetch_text(THESE, ids[:limit])
    paused = await session.fetch_text(PAUSED)
    more = len(ids) > limit
    return Page(
        runs=[run_of(row) for row in rows],
        older=ids[limit - 1] if more else None,
        looked_from=reach + 1 if cut and not more else None,
        paused=frozenset(row["name"] for row in paused),
    )
