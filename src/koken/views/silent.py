"""What came of a run after its last line: an attempt that has printed nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from koken.store.database import Database
from koken.views.reading import rows

# An attempt stands in the table once it has ended, but for one that succeeded: that is the run.
SILENT = """
select r.id as run_id, coalesce(a.outcome, r.state) as outcome,
       (select count(*) from koken.attempt b where b.run_id = r.id)
         + (a.lease is null)::int as number
  from unnest($1::bigint[], $2::bigint[], $3::int[]) t (id, line, lease)
  join koken.run r on r.id = t.id
  left join koken.attempt a on a.run_id = r.id and a.lease = r.lease
 where r.lease > t.lease and r.state in ('succeeded', 'failed', 'cancelled', 'skipped')
   and (a.lease is not null or r.state = 'succeeded')
   and not exists (select from koken.log_line l where l.run_id = t.id and l.id > t.line)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """The last attempt at a run that has ended."""

    number: int
    outcome: str


async def silent(db: Database, ends: Mapping[int, tuple[int, int]]) -> dict[int, Silent]:
    """Of runs by their last lines that are shown, with the leases of these: the last attempts,
    where those have printed nothing and no line comes after."""
    lines = [line for line, _ in ends.values()]
    leases = [lease for _, lease in ends.values()]
    return {
        row["run_id"]: Silent(number=row["number"], outcome=row["outcome"])
        for row in await rows(db, SILENT, list(ends), lines, leases)
    }
