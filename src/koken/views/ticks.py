"""Due times that have come, each with its verdict, the newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from koken.errors import InvalidArguments, NotFound
from koken.model.plain import stamp, text_of
from koken.store.database import Database
from koken.views.reading import rows
from koken.views.standings import STANDING

Verdict = Literal["started", "skipped", "missed", "failed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
# Of each schedule no more than a page; those that are due at the same time as the last of it are
# all there, so that they can be put in order.
TICKS = f"""
select t.due_at, t.until_at, t.count, t.verdict, t.reason, t.run_id, t.blocker_id, t.fired_at,
       s.id as schedule_id, s.name as schedule, s.expression, s.timezone, j.name as job,
       r.state as run_state, {STANDING} as standing
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.workspace w on w.id = s.workspace_id
  join lateral (
    select * from koken.tick
     where schedule_id = s.id and due_at < coalesce($3::timestamptz, 'infinity')
       and due_at >= coalesce($4::timestamptz, '-infinity')
       and due_at <= coalesce($5::timestamptz, 'infinity')
       and ($5 is null or due_at < $5 or schedule_id < $6::int)
       and ($7::text[] is null or verdict = any($7))
     order by due_at desc limit $8) t on true
  left join koken.run r on r.id = t.run_id
 where w.name = $1 and ($2::text is null or j.name = $2)
   and ($9::int is null or s.id = $9) and ($10::text is null or s.name = $10)
 order by t.due_at desc
 fetch first $8 rows with ties
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickRow:
    """A due time and its verdict, or ``count`` due times up to ``until_at``.

    They are counted up to 10,000; 10,001 stands for more.
    """

    due_at: datetime
    until_at: datetime
    count: int
    verdict: str
    reason: str | None
    run_id: int | None
    blocker_id: int | None
    fired_at: datetime
    schedule_id: int
    schedule: str
    """Its name."""
    job: str
    expression: str
    timezone: str
    run_state: str | None
    standing: str | None = None
    """Where its run stands, in a word."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "due_at": stamp(self.due_at),
            "last_at": stamp(self.until_at),
            "count": self.count,
            "verdict": self.verdict,
            "reason": self.reason,
            "run": text_of(self.run_id),
            "run_state": self.run_state,
            "blocker": text_of(self.blocker_id),
            "fired_at": stamp(self.fired_at),
            "schedule": str(self.schedule_id),
            "name": self.schedule,
            "job": self.job,
            "expression": self.expression,
            "timezone": self.timezone,
        }


async def ticks(
    db: Database,
    *,
    workspace: str,
    job: str | None = None,
    schedule: int | None = None,
    name: str | None = None,
    verdicts: Sequence[str] = (),
    since: datetime | None = None,
    before: datetime | None = None,
    after: tuple[datetime | None, int] = (None, 0),
    limit: int = 50,
) -> list[TickRow]:
    """The latest due times of a workspace's schedules; of a job's, or of one.

    ``schedule`` is its number, ``name`` what it is called. ``after``: the instant and the schedule
    of the last one of the page before. Those that fall due at the same time as the last stand in
    one page with it, even if it is longer than ``limit``. Raises ``InvalidArguments`` for a verdict
    that there is not.
    """
    if odd := [each for each in verdicts if each not in VERDICTS]:
        why = f"{odd[0]!r} is no verdict; there are {', '.join(VERDICTS)}"
        raise InvalidArguments(f"verdict: {why}", {"verdict": why})
    wanted = list(verdicts) or None
    found = await rows(
        db, TICKS, workspace, job, before, since, *after, wanted, limit, schedule, name
    )
    told = [TickRow(**dict(row)) for row in found]
    return sorted(told, key=lambda row: (row.due_at, row.schedule_id), reverse=True)


async def of_job(db: Database, job: str, *, workspace: str, **narrowed: Any) -> list[TickRow]:
    """As ``ticks``, of a job. Raises ``NotFound`` for one that there is not."""
    if not await rows(db, "select from koken.job where name = $1", job):
        raise NotFound(f"there is no job {job!r}; `koken jobs` lists them")
    return await ticks(db, workspace=workspace, job=job, **narrowed)
