"""The latest outcomes of jobs, as a strip shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from koken.model.states import State
from koken.store.database import Database, Row
from koken.views import marks
from koken.views.marks import Mark
from koken.views.reading import rows
from koken.views.standings import STANDING, Standing

STRIPS = f"""
select j.id as job_id, r.*
  from unnest($2::int[]) j(id)
 cross join lateral (
   select r.id, r.state, {STANDING} as standing,
          r.acknowledged_at is not null as acknowledged, r.created_at, r.finished_at,
          case when r.made is null then coalesce(r.claimed_at, r.started_at)
               else r.started_at + coalesce(r.idle, interval '0') end as began_at
     from koken.run r
    where r.workspace_id = (select w.id from koken.workspace w where w.name = $1)
      and r.job_id = j.id and r.job_id between j.id and j.id and r.parent_id is null
    order by r.id desc limit $3) r
 order by j.id, r.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one run stands, and how long it was at work."""

    id: int
    state: State
    mark: Mark
    acknowledged: bool
    created_at: datetime
    began_at: datetime | None
    ended_at: datetime | None

    @property
    def seconds(self) -> float | None:
        """How long its latest attempt took; None for one that has not ended, or never began."""
        if self.began_at is None or self.ended_at is None:
            return None
        return max((self.ended_at - self.began_at).total_seconds(), 0.0)

    @property
    def bad(self) -> bool:
        """Whether it is an open failure."""
        return self.state is State.FAILED and not self.acknowledged


Strip = Sequence[Outcome]
"""Outcomes of one job, the oldest first."""


async def strips(
    db: Database, jobs: Sequence[int], *, workspace: str, limit: int = 20
) -> Mapping[int, Strip]:
    """The latest runs of each of these jobs, whatever their state, by the jobs' numbers."""
    found: dict[int, list[Outcome]] = {job: [] for job in jobs}
    for row in await rows(db, STRIPS, workspace, list(jobs), limit):
        found[row["job_id"]].append(outcome(row))
    return found


def outcome(row: Row) -> Outcome:
    """A row as an outcome."""
    return Outcome(
        id=row["id"],
        state=State(row["state"]),
        mark=marks.of(Standing(row["standing"]), acknowledged=row["acknowledged"]),
        acknowledged=row["acknowledged"],
        created_at=row["created_at"],
        began_at=row["began_at"],
        ended_at=row["finished_at"],
    )


def failing_since(strip: Strip) -> Outcome | None:
    """The first of the failures with which a strip ends; None where the last end was none."""
    first = None
    for each in reversed(strip):
        if each.bad:
            first = each
        elif each.state in (State.SUCCEEDED, State.FAILED):
            break
    return first
