"""What is done to many runs: how it stands, and what one would be about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from koken.errors import InvalidArguments, NotFound
from koken.model.bulk import VERBS, Bulk, BulkVerb, of_any
from koken.model.run import Run
from koken.model.states import State
from koken.store.database import Database
from koken.views.pages import page
from koken.views.query import Query, parse
from koken.views.reading import reading, rows
from koken.views.runs import THESE, run_of
from koken.views.standings import FAILURES, GOING, GROUPS, OPEN, Standing

MOST = 100_000
"""Runs in one bulk."""
FEW = 5
"""Runs that a preview shows."""
FORESEEN = 200
"""Runs of which it is looked up whether they would be left as they are."""
STATES: Mapping[BulkVerb, Sequence[State]] = {
    "retry": (State.FAILED, State.CANCELLED, State.SKIPPED),
    "cancel": tuple(state for state in State if not state.ended),
    "skip": (State.FAILED,),
    "acknowledge": (State.FAILED,),
}
"""In which states a run is one that it can be done to."""
OF_STEPS = (
    "r.made is not null and exists (select from koken.step t where t.version_id = r.version_id)"
)
BULKS = """
select b.id, b.verb, b.query, b.rate, b.by, b.reason, b.state, b.stopped_reason, b.created_at,
       b.finished_at, m.total, m.done, m.refused, m.going, m.recovered, m.failed_again
  from koken.bulk b
  join koken.workspace w on w.id = b.workspace_id
  join lateral (
    select count(*) as total, count(*) filter (where x.refusal is not null) as refused,
           count(*) filter (where x.at is not null and x.refusal is null) as done,
           count(*) filter (where x.at is not null and x.refusal is null and r.id is not null
                                and r.finished_at is null) as going,
           count(*) filter (where x.at is not null and x.refusal is null and r.state = 'succeeded'
                                and b.verb = 'retry') as recovered,
           count(*) filter (where x.at is not null and x.refusal is null and r.state = 'failed'
                                and b.verb = 'retry') as failed_again
      from koken.bulk_run x left join koken.run r on r.id = x.run_id
     where x.bulk_id = b.id) m on true
 where w.name = $1 and ($2::bigint is null or b.id = $2) and ($4::bigint is null or b.id < $4)
 order by b.id desc limit $3
"""
REFUSALS = """
select run_id, refusal from koken.bulk_run where bulk_id = $1 and refusal is not null
"""
JOBS = """
select j.name, count(*) as n from koken.run r join koken.job j on j.id = r.job_id
 where r.id = any($1::bigint[]) group by 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a bulk would be about."""

    ids: Sequence[int]
    jobs: Mapping[str, int]
    """How many of each job, the most first."""
    first: Sequence[Run[Any]]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "runs": len(self.ids),
            "jobs": dict(self.jobs),
            "first": [run.to_json() for run in self.first],
        }


async def preview(db: Database, query: str, *, workspace: str, verb: BulkVerb = "retry") -> Preview:
    """The runs that match and to which it could be done, oldest first.

    Raises ``InvalidArguments`` for a bad query, or one that says nothing or is about too many.
    """
    if not query.strip():
        raise InvalidArguments("say which runs: job:report state:failed since:2h")
    asked = parse(query)
    narrow(asked, verb)
    async with reading(db) as session:
        ids = await page(session, asked, workspace=workspace, limit=MOST + 1)
        if len(ids) > MOST:
            raise InvalidArguments(f"more than {MOST:,} runs match; narrow the query")
        counts = Counter({row["name"]: row["n"] for row in await session.fetch_text(JOBS, ids)})
        first = [run_of(row) for row in await session.fetch_text(THESE, sorted(ids)[:FEW])]
    return Preview(ids=sorted(ids), jobs=dict(counts.most_common()), first=first[::-1])


def narrow(query: Query, verb: BulkVerb) -> None:
    """Leave out the runs to which it cannot be done: a skip is for workflows that failed."""
    query.runs.add("r.state = any({}::text[])", [state.value for state in STATES[verb]])
    if verb == "skip":
        query.runs.add(OF_STEPS)
    elif verb == "acknowledge":
        query.runs.add(OPEN)


def applies(verb: BulkVerb, run: Run[Any]) -> bool:
    """Whether it could be done to a run."""
    if run.state not in STATES[verb] or (verb == "skip" and not run.is_workflow):
        return False
    return verb != "acknowledge" or run.acknowledged_by is None


def possible(text: str, states: Collection[Standing]) -> list[BulkVerb]:
    """What could be done to runs that match a query, of which some stand so."""
    wanted = parse(text).states
    found = {each for each in states if all(is_one(each, words) for words in wanted)}
    return [verb for verb in VERBS if any(could(verb, each) for each in found)]


def is_one(standing: Standing, words: Collection[str]) -> bool:
    """Whether runs that stand so may be what ``state:`` asks for by one of these words."""
    named = standing in words or any(standing in GROUPS.get(word, ()) for word in words)
    return named or (standing is Standing.FAILED and not FAILURES.keys().isdisjoint(words))


def could(verb: BulkVerb, standing: Standing) -> bool:
    """Whether it could be done to runs that stand so."""
    return bool({standing.value, *GOING.get(standing, ())} & set(STATES[verb]))


async def bulks(
    db: Database, *, workspace: str, limit: int = 50, before: int | None = None
) -> list[Bulk]:
    """The latest bulks, newest first; ``before``: where the last page ended."""
    found = await rows(db, BULKS, workspace, None, limit, before)
    return [Bulk(**dict(row)) for row in found]


async def bulk(db: Database, bulk_id: int, *, workspace: str) -> Bulk:
    """A bulk by its number. Raises ``NotFound``."""
    found = await rows(db, BULKS, workspace, bulk_id, 1, None)
    if not found:
        raise NotFound(f"there is no bulk {bulk_id}; `koken bulk` lists them")
    return Bulk(**dict(found[0]))


async def refusals(db: Database, bulk_id: int) -> Counter[str]:
    """Why runs of a bulk were left as they are, and how many for each reason."""
    found = await rows(db, REFUSALS, bulk_id)
    return Counter(of_any(row["refusal"], row["run_id"]) for row in found)
