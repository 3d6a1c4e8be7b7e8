"""Where a person has let a run go again between two attempts at it: who, when and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from koken.store.database import Database
from koken.views import words
from koken.views.reading import rows

# After an attempt that ended a run for good only a person lets it go again: by a retry of the run,
# of the step whose item it is, or of the workflow whose step it is.
RETRIES = """
select r.id as run_id, e.at, e.by, e.reason,
       (select count(*) from koken.attempt b where b.run_id = r.id and b.lease <= a.lease) as tries
  from koken.run r
  left join koken.run p on p.id = r.parent_id
 cross join lateral (
   select e.id, e.at, e.by, e.reason from koken.event e
    where e.run_id in (r.id, p.id, p.parent_id, r.root_id) and e.verb = 'retry') e
 cross join lateral (
   select a.lease, a.outcome from koken.attempt a
    where a.run_id = r.id and a.ended_at <= e.at order by a.lease desc limit 1) a
 where r.id = any($1::bigint[]) and a.outcome in ('succeeded', 'failed', 'cancelled', 'skipped')
 order by e.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """What somebody did so that a run goes again."""

    at: datetime
    by: str
    reason: str | None

    @property
    def told(self) -> str:
        """``retried by mira``."""
        return f"retried by {words.plain(self.by)}"


Retries = Mapping[tuple[int, int], Retried]
"""By a run and how many attempts at it had ended before."""


async def retries(db: Database, ids: Sequence[int]) -> Retries:
    """The retries of runs, of a step's also those of its workflow that let it go again."""
    return {
        (row["run_id"], row["tries"]): Retried(at=row["at"], by=row["by"], reason=row["reason"])
        for row in await rows(db, RETRIES, list(ids))
    }


def last(found: Retries, run_id: int) -> Retried | None:
    """The last retry of a run."""
    return max((each for (run, _), each in found.items() if run == run_id),
               key=lambda each: each.at, default=None)  # fmt: skip
