"""What falls due over all schedules: the hours behind, by verdict, and the day to come.

The past is what was recorded. The future is computed from the schedules, as far as that is cheap: a
schedule that is due often is one stretch, and on a page that has much to compute for the first time
the rest shows its next time alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from koken.errors import DeclarationError
from koken.model.schedule import Schedule
from koken.model.states import State
from koken.store.database import Database, Row
from koken.views.marks import Mark
from koken.views.reading import reading

BEHIND = timedelta(hours=6)
AHEAD = timedelta(hours=24)
STEP = timedelta(minutes=15)
OFTEN = 60
"""Due times of a schedule in the day to come, above which it is drawn as one stretch."""
COMPUTED = 2000
"""Due times that one page computes at most; what was computed once is kept for the hour."""
MOST_LINES = 40
MOST_SCHEDULES = 2000
SCHEDULES = """
select s.id, s.name, j.name as job, s.declared::text as declared, s.next_at,
       s.paused_at is not null as paused
  from koken.schedule s
  join koken.job j on j.id = s.job_id
  join koken.workspace w on w.id = s.workspace_id
 where w.name = $1 and s.retired_at is null
 order by s.paused_at is not null, s.next_at nulls last, j.name, s.name
 limit $2
"""
TICKS = """
select t.schedule_id, t.verdict, min(t.due_at) as due_at, max(t.until_at) as until_at,
       sum(t.count)::int as count
  from unnest($1::int[]) s (id)
  join koken.tick t on t.schedule_id = s.id and t.due_at >= $2 and t.due_at <= $3
 group by t.schedule_id, date_bin('15 min', t.due_at, timestamptz '2000-01-01'), t.verdict
 order by t.schedule_id, due_at
"""
VERDICTS = {
    "started": Mark("✓", "started", "succeeded"),
    "skipped": Mark("–", "skipped", "skipped"),
    "missed": Mark("∅", "missed", "retry"),
    "failed": Mark(State.FAILED.glyph, "failed", "failed"),
}
PLANNED = Mark("○", "due", "planned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A due time, or ``count`` of them up to ``until``."""

    at: datetime
    until: datetime
    count: int
    mark: Mark
    job: str
    often: bool = False
    """A stretch that is too dense for single marks; ``count`` is about how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one job has in the time shown."""

    job: str
    dues: tuple[Due, ...]
    paused: bool
    """Whether all its schedules are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pile:
    """How many due times lie in a quarter of an hour."""

    at: datetime
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Agenda:
    """All due times from ``begin`` to ``end``."""

    begin: datetime
    now: datetime
    end: datetime
    piles: tuple[Pile, ...]
    lines: tuple[Line, ...]
    """Those that are due first; at most ``MOST_LINES``."""
    jobs: int
    """How many there are in all."""
    rough: int
    """Schedules of which only the next time is shown."""

    @property
    def highest(self) -> Pile | None:
        """The greatest pile of those that are still to come."""
        ahead = [pile for pile in self.piles if pile.at >= self.now]
        return max(ahead, key=lambda pile: pile.count, default=None)


def verdict(name: str) -> Mark:
    """How a verdict is marked."""
    return VERDICTS.get(name, PLANNED)


async def agenda(db: Database, *, workspace: str, now: datetime) -> Agenda:
    """The agenda of a workspace at ``now``."""
    begin = floor(now - BEHIND)
    async with reading(db) as session:
        found = await session.fetch_text(SCHEDULES, workspace, MOST_SCHEDULES)
        ids = [row["id"] for row in found]
        ticks = await session.fetch_text(TICKS, ids, begin, now) if ids else []
    return drawn(found, ticks, begin=begin, now=now)


def drawn(
    schedules: Sequence[Row], ticks: Sequence[Row], *, begin: datetime, now: datetime
) -> Agenda:
    """The agenda from the rows of schedules and ticks."""
    end = now + AHEAD
    jobs = {row["id"]: row["job"] for row in schedules}
    lines: dict[str, list[Due]] = {row["job"]: [] for row in schedules}
    for tick in ticks:
        job = jobs[tick["schedule_id"]]
        lines[job].append(
            Due(
                at=max(tick["due_at"], begin),
                until=min(tick["until_at"], now),
                count=tick["count"],
                mark=verdict(tick["verdict"]),
                job=job,
            )
        )
    left, rough = COMPUTED, 0
    for row in schedules:
        if row["paused"] or row["next_at"] is None or row["next_at"] > end:
            continue
        dues, cost = coming(row, now, end, left)
        left -= cost
        rough += dues is None
        lines[row["job"]] += [single(row)] if dues is None else dues
    paused = {row["job"] for row in schedules} - {
        row["job"] for row in schedules if not row["paused"]
    }
    busy = [(job, dues) for job, dues in lines.items() if dues]
    shown = [
        Line(job=job, dues=thinned(dues), paused=job in paused) for job, dues in busy[:MOST_LINES]
    ]
    return Agenda(
        begin=begin,
        now=now,
        end=end,
        piles=piles([due for dues in lines.values() for due in dues], begin, end),
        lines=tuple(shown),
        jobs=len(busy),
        rough=rough,
    )


def thinned(dues: Sequence[Due]) -> tuple[Due, ...]:
    """What one line shows: of a job with many schedules no more than of one."""
    found: dict[tuple[datetime, Mark], Due] = {}
    ahead = [due for due in dues if due.mark is PLANNED]
    if len(ahead) > OFTEN or any(due.often for due in ahead):
        first, last = min(due.at for due in ahead), max(due.until for due in ahead)
        count = sum(due.count for due in ahead)
        band = Due(at=first, until=last, count=count, mark=PLANNED, job=ahead[0].job, often=True)
        found[first, PLANNED] = band
        ahead = []
    for due in (*(due for due in dues if due.mark is not PLANNED), *ahead):
        key = (due.at if due.mark is PLANNED else floor(due.at), due.mark)
        before = found.get(key, due)
        found[key] = replace(
            before,
            at=min(before.at, due.at),
            until=max(before.until, due.until),
            count=due.count if before is due else before.count + due.count,
        )
    return tuple(sorted(found.values(), key=lambda due: due.at))


def coming(
    row: Mapping[str, object], now: datetime, end: datetime, left: int
) -> tuple[list[Due] | None, int]:
    """What a schedule has to come, and how many due times were computed for that.

    None where more would have to be computed than is left.
    """
    hour = now.replace(minute=0, second=0, microsecond=0)
    declared, job = str(row["declared"]), str(row["job"])
    before = computed.cache_info().misses
    if left <= 0:
        return None, 0
    times = computed(declared, hour)
    cost = len(times) if computed.cache_info().misses > before else 0
    if len(times) > OFTEN:
        gap = (times[-1] - times[0]) / (len(times) - 1)
        first = max(times[0], now)
        about = int((end - first) / gap)
        return [Due(at=first, until=end, count=about, mark=PLANNED, job=job, often=True)], cost
    ahead = [time for time in times if now < time <= end]
    return [Due(at=time, until=time, count=1, mark=PLANNED, job=job) for time in ahead], cost


@lru_cache(maxsize=4096)
def computed(declared: str, hour: datetime) -> tuple[datetime, ...]:
    """The due times of a schedule in the 25 hours from a full hour on; one more than ``OFTEN`` at
    most."""
    try:
        schedule = Schedule.from_json(json.loads(declared))
        found = schedule.due_between(hour, hour + AHEAD + timedelta(hours=1), OFTEN + 1)
    except (DeclarationError, ValueError, OverflowError):
        # one that cannot be computed any more is told of in the list, with the reason
        return ()
    return tuple(time.astimezone(UTC) for time in found)


def single(row: Mapping[str, object]) -> Due:
    """The next time alone, as it is stored."""
    at = row["next_at"]
    assert isinstance(at, datetime)
    return Due(at=at, until=at, count=1, mark=PLANNED, job=str(row["job"]))


def piles(dues: Sequence[Due], begin: datetime, end: datetime) -> tuple[Pile, ...]:
    """How many fall due in each quarter of an hour; a stretch counts evenly over its length."""
    number = int((end - begin) / STEP) + 1
    counts = [0.0] * number
    for due in dues:
        first, last = int((due.at - begin) / STEP), int((due.until - begin) / STEP)
        places = range(max(first, 0), min(last, number - 1) + 1)
        for place in places:
            counts[place] += due.count / len(places)
    return tuple(
        Pile(at=begin + place * STEP, count=round(count)) for place, count in enumerate(counts)
    )


def floor(instant: datetime) -> datetime:
    """The quarter of an hour in which an instant lies."""
    return instant.replace(minute=instant.minute // 15 * 15, second=0, microsecond=0)
