"""The whole of a workspace at a glance: what needs a hand, what flows, what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from koken.store.database import Database
from koken.views import floor, hands, locks, openquestions
from koken.views.floor import QueueRow
from koken.views.flow import Flow, flow_in
from koken.views.hands import Failed, LateSchedule, LostRun, SlowRun, StuckQueue, Undoing
from koken.views.locks import KeyRow, LockRow
from koken.views.openquestions import QuestionRow
from koken.views.reading import reading, rows

KEYS_LONG = 12 * 3600.0
"""Seconds from which on a run holds its key for long; nobody may be kept waiting by it."""
NEXT = """
select date_trunc('minute', s.next_at) as at, count(*) as count,
       (array_agg(j.name order by s.next_at, j.name))[1:8] as jobs
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.workspace w on w.id = s.workspace_id
 where w.name = $1 and s.paused_at is null and s.retired_at is null and s.next_at is not null
   and s.next_at >= koken.now() - interval '1 min'
 group by 1
 order by 1
 limit $2
"""
NAMES = """
select j.name from koken.job j
 where j.workspace_id in (2, (select w.id from koken.workspace w where w.name = $1))
   and j.retired_at is null
 order by j.name limit 5000
"""
FIRINGS = 12
"""Instants that are told of what comes next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """A minute in which schedules fire."""

    at: datetime
    count: int
    jobs: Sequence[str]
    """The first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """All that the first page tells."""

    failed_jobs: int
    """How many jobs have a failure that nobody has closed."""
    failed: Sequence[Failed]
    undoing: Sequence[Undoing]
    questions: Sequence[QuestionRow]
    late: Sequence[LateSchedule]
    slow: Sequence[SlowRun]
    lost: Sequence[LostRun]
    stuck: Sequence[StuckQueue]
    locks: Sequence[LockRow]
    """Held for long, while others wait."""
    keys: Sequence[KeyRow]
    flow: Flow
    queues: Sequence[QueueRow]
    next: Sequence[Firing]

    @property
    def hands(self) -> int:
        """How many things need a hand."""
        return self.failed_jobs + sum(
            map(
                len,
                (
                    self.undoing,
                    self.questions,
                    self.late,
                    self.slow,
                    self.lost,
                    self.stuck,
                    self.locks,
                    self.keys,
                ),
            )
        )


async def overview(db: Database, *, workspace: str, midnight: datetime) -> Overview:
    """A workspace at a glance; ``midnight`` is when the reader's day began."""
    async with reading(db) as session:
        failed_jobs, failed = await hands.failed(session, workspace)
        undoing = await hands.undoing(session, workspace)
        late = await hands.late_schedules(session, workspace)
        lost = await hands.lost_runs(session, workspace)
        slow = await hands.slow_runs(session, workspace)
        stuck = await hands.stuck_queues(session, workspace)
        flow = await flow_in(session, workspace=workspace, midnight=midnight)
        coming = await session.fetch_text(NEXT, workspace, FIRINGS)
    gone = {each.root_id for each in lost}
    return Overview(
        failed_jobs=failed_jobs,
        failed=failed,
        undoing=undoing,
        questions=await openquestions.questions(db, workspace=workspace, limit=hands.MOST),
        late=late,
        slow=[each for each in slow if each.run_id not in gone],
        lost=lost,
        stuck=stuck,
        locks=await locks.locks(db, workspace=workspace, limit=hands.MOST, in_the_way=hands.LONG),
        keys=await locks.keys(db, workspace=workspace, longer_than=KEYS_LONG, limit=hands.MOST),
        flow=flow,
        queues=await floor.queues(db, workspace=workspace),
        next=[Firing(**dict(row)) for row in coming],
    )


async def job_names(db: Database, workspace: str) -> list[str]:
    """The names of the jobs that there are."""
    return [row["name"] for row in await rows(db, NAMES, workspace)]
