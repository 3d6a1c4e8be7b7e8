"""The whole of a workspace at a glance: what needs a hand, what flows, what comes next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from koken.model.schedule import Schedule
from koken.store.database import Database, Row
from koken.views import floor, hands, locks, openquestions
from koken.views.floor import QueueRow
from koken.views.flow import Flow, flow_in
from koken.views.hands import Failed, LateSchedule, LostRun, SlowRun, Some, Undoing, some
from koken.views.locks import KeyRow, LockRow
from koken.views.openquestions import QuestionRow
from koken.views.reading import reading, rows
from koken.views.stuckqueues import StuckQueue, stuck_queues
from koken.views.upcoming import dues

KEYS_LONG = 12 * 3600.0
"""Seconds from which on a run holds its key for long; nobody may be kept waiting by it."""
NAMED = 8
"""Jobs of one minute that are named."""
NEXT = f"""
select min(s.next_at) as at, count(*) as count,
       (array_agg(j.name order by s.next_at, j.name))[1:{NAMED}] as jobs
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.workspace w on w.id = s.workspace_id
 where w.name = $1 and s.paused_at is null and s.retired_at is null and s.next_at is not null
   and s.next_at > koken.now()
 group by date_trunc('minute', s.next_at)
 order by 1
 limit $2
"""
# Times that have passed a moment ago, and that no worker has fired yet.
PASSED = """
select s.id, j.name as job, s.declared::text as declared, koken.now() as now
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.workspace w on w.id = s.workspace_id
 where w.name = $1 and s.paused_at is null and s.retired_at is null
   and s.next_at between koken.now() - interval '1 min' and koken.now()
 order by s.next_at, j.name
 limit 1000
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
    """A minute in which schedules fire; ``at`` is when the first of them does."""

    at: datetime
    count: int
    jobs: Sequence[str]
    """The first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """All that the first page tells."""

    failed: Some[Failed]
    """Jobs with open failures."""
    undoing: Some[Undoing]
    questions: Some[QuestionRow]
    late: Some[LateSchedule]
    slow: Some[SlowRun]
    lost: Some[LostRun]
    stuck: Some[StuckQueue]
    locks: Some[LockRow]
    """Held for long, while others wait."""
    keys: Some[KeyRow]
    flow: Flow
    queues: Sequence[QueueRow]
    next: Sequence[Firing]

    @property
    def hands(self) -> int:
        """How many things need a hand; of each kind at most as many as are counted."""
        kinds = (
            self.failed,
            self.undoing,
            self.questions,
            self.late,
            self.slow,
            self.lost,
            self.stuck,
            self.locks,
            self.keys,
        )
        return sum(kind.total for kind in kinds)


async def overview(db: Database, *, workspace: str, midnight: datetime) -> Overview:
    """A workspace at a glance; ``midnight`` is when the reader's day began."""
    most = hands.COUNTED
    async with reading(db) as session:
        failed = await hands.failed(session, workspace)
        undoing = await hands.undoing(session, workspace)
        late = await hands.late_schedules(session, workspace)
        lost = await hands.lost_runs(session, workspace)
        slow = await hands.slow_runs(session, workspace)
        stuck = await stuck_queues(session, workspace)
        flow = await flow_in(session, workspace=workspace, midnight=midnight)
        coming = await session.fetch_text(NEXT, workspace, FIRINGS)
        passed = await session.fetch_text(PASSED, workspace)
    questions = await openquestions.questions(db, workspace=workspace, limit=most)
    held = await locks.locks(db, workspace=workspace, limit=most, in_the_way=hands.LONG)
    keys = await locks.keys(db, workspace=workspace, longer_than=KEYS_LONG, limit=most)
    gone = {each.root_id for each in lost}
    return Overview(
        failed=failed,
        undoing=some(undoing),
        questions=some(questions),
        late=some(late),
        slow=some([each for each in slow if each.run_id not in gone]),
        lost=some(lost),
        stuck=some(stuck),
        locks=some(held),
        keys=some(keys),
        flow=flow,
        queues=await floor.queues(db, workspace=workspace),
        next=to_come([Firing(**dict(row)) for row in coming], passed),
    )


def to_come(known: Sequence[Firing], passed: Sequence[Row]) -> list[Firing]:
    """The next minutes in which schedules fire; of those that have ``passed``, the time after."""
    minutes = {minute(each.at): each for each in known}
    for row in passed:
        schedule = Schedule.from_json(json.loads(row["declared"]))
        for due in islice(dues(row["id"], schedule, row["now"]), 1):
            there = minutes.get(minute(due.at), Firing(at=due.at, count=0, jobs=()))
            minutes[minute(due.at)] = Firing(
                at=min(there.at, due.at),
                count=there.count + 1,
                jobs=[*there.jobs, row["job"]][:NAMED],
            )
    return sorted(minutes.values(), key=lambda each: each.at)[:FIRINGS]


def minute(instant: datetime) -> datetime:
    """The minute that an instant is in."""
    return instant.replace(second=0, microsecond=0)


async def job_names(db: Database, workspace: str) -> list[str]:
    """The names of the jobs that there are."""
    return [row["name"] for row in await rows(db, NAMES, workspace)]
