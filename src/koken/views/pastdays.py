"""A job's past as a calendar: for each day how its runs ended.

However many runs there were, a day reads ``MOST`` of them, and the failures that are open besides;
days are found by their borders among the runs' numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from koken.model.states import State
from koken.store.database import Database, Transaction
from koken.views.reading import reading

MOST = 100
"""Runs of a day that are looked at: the newest."""
BORDERS = """
with recursive
moments as (select m.at, m.no from unnest($1::timestamptz[]) with ordinality m(at, no)),
halves as (
  select m.no, m.at, b.low, b.high
    from moments m, (select min(id) - 1 as low, max(id) + 1 as high from koken.run) b
  union all
  select h.no, h.at,
         case when r.id is null or r.created_at < h.at then h.middle else h.low end,
         case when r.id is null or r.created_at < h.at then h.high else r.id end
    from (select no, at, low, high, low + (high - low) / 2 as middle
            from halves where high - low > 1) h
    left join lateral (
      select r.id, r.created_at from koken.run r
       where r.id > h.low and r.id <= h.middle order by r.id desc limit 1) r on true)
select no, max(low) as low from halves group by no order by no
"""
DAYS = """
select d.no, r.state, r.acknowledged, count(*) as count
  from unnest($3::bigint[], $4::bigint[]) with ordinality d(low, high, no)
 cross join lateral (
   (select r.id, r.state, r.acknowledged_at is not null as acknowledged from koken.run r
     where r.workspace_id = $1 and r.job_id = $2 and r.job_id between $2 and $2
       and r.parent_id is null and r.id > d.low and r.id <= d.high
     order by r.id desc limit $5)
   union
   (select r.id, r.state, false from koken.run r
     where r.workspace_id = $1 and r.job_id = $2 and r.parent_id is null
       and r.state = 'failed' and r.acknowledged_at is null
       and r.id > d.low and r.id <= d.high
     order by r.id desc limit $5)) r
 where d.low < d.high
 group by d.no, r.state, r.acknowledged
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """How the runs ended that were made on one day."""

    day: date
    since: datetime
    until: datetime
    counts: Mapping[State, int]
    open_failures: int
    """Failed ones that nobody has acknowledged."""
    more: bool
    """Whether there were more runs than were looked at."""

    @property
    def total(self) -> int:
        """How many runs were looked at."""
        return sum(self.counts.values())

    @property
    def look(self) -> str:
        """What is to be said of the day first, as a look: its worst outcome."""
        if self.open_failures:
            return "failed"
        if self.counts.get(State.FAILED):
            return "acknowledged"
        for state in (State.CANCELLED, State.SUCCEEDED, State.SKIPPED):
            if self.counts.get(state):
                return state.value
        return "running" if self.total else "none"


async def past_days(
    db: Database, job: int, *, workspace: str, zone: tzinfo, today: date, weeks: int = 26
) -> list[Day]:
    """The days of so many weeks up to ``today``, from a Monday on, by a clock in ``zone``."""
    first = today - timedelta(days=today.weekday() + 7 * (weeks - 1))
    days = [first + timedelta(days=no) for no in range((today - first).days + 1)]
    starts = [midnight(day, zone) for day in [*days, today + timedelta(days=1)]]
    async with reading(db) as session:
        found = await counted(session, job, workspace, starts)
    return [
        made(day, since, until, found.get(no, []))
        for no, (day, since, until) in enumerate(zip(days, starts, starts[1:], strict=False), 1)
    ]


async def counted(
    session: Transaction, job: int, workspace: str, starts: Sequence[datetime]
) -> dict[int, list[tuple[State, bool, int]]]:
    """By the number of a day: state, whether it is acknowledged, how many."""
    borders = await session.fetch_text(BORDERS, list(starts))
    places = await session.fetch_text("select id from koken.workspace where name = $1", workspace)
    lows = [row["low"] for row in borders]
    if not places or not lows or None in lows:
        return {}
    found: dict[int, list[tuple[State, bool, int]]] = {}
    days = (places[0]["id"], job, lows[:-1], lows[1:], MOST + 1)
    for row in await session.fetch_text(DAYS, *days):
        one = (State(row["state"]), row["acknowledged"], row["count"])
        found.setdefault(row["no"], []).append(one)
    return found


def made(
    day: date, since: datetime, until: datetime, found: Sequence[tuple[State, bool, int]]
) -> Day:
    """A day from its counts."""
    counts: dict[State, int] = {}
    for state, _, number in found:
        counts[state] = counts.get(state, 0) + number
    return Day(
        day=day,
        since=since,
        until=until,
        counts=counts,
        open_failures=sum(
            number for state, seen, number in found if state is State.FAILED and not seen
        ),
        more=sum(counts.values()) > MOST,
    )


def midnight(day: date, zone: tzinfo) -> datetime:
    """When a day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
