"""When each step or attempt of a run went: what a gantt chart is drawn from."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.model.run import Run
from koken.model.runparts import Failure
from koken.model.states import State, WaitCause
from koken.store.database import Database, Row
from koken.views import marks
from koken.views.marks import Mark
from koken.views.reading import rows as fetched
from koken.views.steps import StepRow

MOST = 40
"""Rows; of more steps those that tell most."""
TRIES = 30
"""Attempts of one step, its last ones."""
ATTEMPTS = f"""
select x.* from unnest($1::bigint[]) t (id)
 cross join lateral (
   select * from (
     select a.run_id, a.lease, a.attempt, a.outcome, a.started_at, a.ended_at,
            a.error::text as error
       from koken.attempt a where a.run_id = t.id
     union all
     select r.id, r.lease, r.attempt, r.state, r.claimed_at, r.finished_at, null
       from koken.run r
      where r.id = t.id and r.state in ('running', 'succeeded') and r.claimed_at is not null
        and not exists (select from koken.attempt a where a.run_id = r.id and a.lease = r.lease)
   ) y order by y.lease desc limit {TRIES}) x
 order by x.run_id, x.lease
"""
LOOKS = {
    "retry": Mark("↻", "failed", "retry"),
    "lost": Mark(State.FAILED.glyph, "lost its worker", "retry"),
    "failed": Mark(State.FAILED.glyph, "failed", "failed"),
    "snooze": Mark("◔", "snoozed", "waiting"),
    "skipped": Mark("–", "skipped", "skipped"),
    "cancelled": Mark("⊘", "cancelled", "cancelled"),
    "returned": Mark("○", "was given back", "ready"),
    "running": Mark("●", "running", "running"),
    "succeeded": Mark("✓", "succeeded", "succeeded"),
}
"""By the outcome of an attempt."""
WAIT = Mark("◔", "waited", "wait")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A time in which something was one way; ``end`` None: it goes on."""

    start: datetime
    end: datetime | None
    mark: Mark
    attempt: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A row: a step, or an attempt at a run that has no steps."""

    name: str
    mark: Mark
    run_id: int | None
    segments: tuple[Segment, ...]
    took: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All rows, between two instants."""

    start: datetime
    end: datetime
    live: bool
    bars: tuple[Bar, ...]
    left_out: int = 0
    """Steps that have no row."""


async def timeline(
    db: Database, run: Run[Any], rows: Sequence[StepRow], now: datetime
) -> Timeline | None:
    """Of a run and its steps; None where nothing has begun."""
    begun = [row for row in rows if row.started_at is not None and not row.recorded]
    shown = chosen(begun)
    ids = [row.run_id for row in shown if row.run_id is not None] or [run.id]
    tries: dict[int, list[Segment]] = defaultdict(list)
    for row in await fetched(db, ATTEMPTS, ids):
        if row["started_at"] is not None:
            tries[row["run_id"]].append(attempt(row))
    bars = [bar_of_step(row, tries, now) for row in shown] if shown else attempts(run, tries, now)
    bars = [bar for bar in bars if bar.segments]
    if not bars:
        return None
    starts = [segment.start for bar in bars for segment in bar.segments]
    ends = [segment.end or now for bar in bars for segment in bar.segments]
    return Timeline(
        start=min(starts),
        end=max([*ends, *([] if run.ended_at else [now])]),
        live=not run.state.ended,
        bars=tuple(bars),
        left_out=len(begun) - len(shown) if shown else 0,
    )


def chosen(rows: Sequence[StepRow]) -> list[StepRow]:
    """At most ``MOST`` steps, in their order; of more, what failed or goes before what is done."""
    if len(rows) <= MOST:
        return list(rows)
    quiet = (State.SUCCEEDED, State.SKIPPED)
    return sorted(rows, key=lambda row: (row.state in quiet, row.no))[:MOST]


def attempt(row: Row) -> Segment:
    """An attempt as it is stored."""
    error = Failure.from_json(json.loads(row["error"])).in_line if row["error"] else ""
    return Segment(
        start=row["started_at"],
        end=row["ended_at"],
        mark=LOOKS.get(row["outcome"], WAIT),
        attempt=row["attempt"],
        error=error,
    )


def bar_of_step(row: StepRow, tries: Mapping[int, list[Segment]], now: datetime) -> Bar:
    """A step: its attempts, and the waits between them; one that is made of runs in one piece."""
    waits = row.wait is not None and row.wait.cause is not WaitCause.CHILDREN
    if (row.items is not None or row.child is not None) and row.started_at is not None:
        whole = Segment(start=row.started_at, end=row.ended_at, mark=row.mark)
        segments: tuple[Segment, ...] = (whole,)
    else:
        segments = with_waits(tries.get(row.run_id or 0, []), now if waits else None)
    return Bar(name=row.name, mark=row.mark, run_id=row.run_id, segments=segments, took=row.took)


def with_waits(found: Sequence[Segment], until: datetime | None) -> tuple[Segment, ...]:
    """Attempts, with a wait between each two, and one up to ``until``."""
    segments: list[Segment] = []
    for each in found:
        last = segments[-1].end if segments else None
        if last is not None and each.start > last:
            segments.append(Segment(start=last, end=each.start, mark=WAIT))
        segments.append(each)
    last = segments[-1].end if segments else None
    if last is not None and until is not None and until > last:
        segments.append(Segment(start=last, end=None, mark=WAIT))
    return tuple(segments)


def attempts(run: Run[Any], tries: Mapping[int, list[Segment]], now: datetime) -> list[Bar]:
    """A row for each attempt at a run without steps; before the first the wait for a worker."""
    found = tries.get(run.id, [])
    bars = []
    for place, each in enumerate(found):
        before = found[place - 1].end if place else run.created_at
        waited = (
            (Segment(start=before, end=each.start, mark=WAIT),)
            if before is not None and each.start > before
            else ()
        )
        took = ((each.end or now) - each.start).total_seconds()
        bars.append(
            Bar(
                name=f"attempt {each.attempt}", mark=each.mark, run_id=None,
                segments=(*waited, each), took=took,
            )
        )  # fmt: skip
    last = found[-1].end if found else None
    if last is not None and not run.state.ended and run.state is not State.RUNNING:
        wait = Segment(start=last, end=None, mark=WAIT)
        mark = marks.of_run(run)
        bars.append(Bar(name=mark.word, mark=mark, run_id=None, segments=(wait,)))
    return bars
