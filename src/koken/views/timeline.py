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
from koken.model.steps import StepSpec
from koken.store.database import Database, Row
from koken.views import marks
from koken.views.marks import Mark
from koken.views.reading import rows as fetched
from koken.views.retries import Retried, retries
from koken.views.steprows import StepRow

MOST = 40
"""Rows; of more steps those that tell most."""
TRIES = 30
"""Attempts of one step, its last ones."""
SHORT = 1.0
"""Seconds; a wait for a worker that is shorter is no part of the row of a step."""
ATTEMPTS = f"""
select x.*, (select count(*) from koken.attempt a where a.run_id = x.run_id) as made
  from unnest($1::bigint[]) t (id)
 cross join lateral (
   select * from (
     select a.run_id, a.lease, true as kept, a.outcome, a.started_at, a.ended_at,
            a.error::text as error
       from koken.attempt a where a.run_id = t.id
     union all
     select r.id, r.lease, false, r.state, r.claimed_at, r.finished_at, null
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
WAITING = (State.BLOCKED, State.READY, State.WAITING)
"""States of a step that could go, and does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A time in which something was one way; ``end`` None: it goes on."""

    start: datetime
    end: datetime | None
    mark: Mark
    attempt: int = 0
    """The how manyth at the run, over all that people have let it go again."""
    error: str = ""
    retried: str = ""
    """Of an attempt: who has let the run go again before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A row: a step, or an attempt at a run that has no steps."""

    name: str
    mark: Mark
    run_id: int | None
    segments: tuple[Segment, ...]
    took: float | None = None
    note: str = ""
    """What else there is to say of it."""


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
    db: Database,
    run: Run[Any],
    rows: Sequence[StepRow],
    now: datetime,
    declared: Sequence[StepSpec] = (),
) -> Timeline | None:
    """Of a run and its steps; None where nothing has begun, and nothing waits to begin.

    What a fork keeps from its origin went in another run, and has no row.
    """
    frees = freed(run, rows, declared)
    own = [row for row in rows if not row.recorded and row.kept_from is None]
    begun = [row for row in own if row.started_at is not None or row.no in frees]
    shown = chosen(begun)
    ids = [row.run_id for row in shown if row.run_id is not None] or [run.id]
    tries = await attempts_at(db, ids)
    bars = (
        [bar_of_step(row, tries, now, frees.get(row.no)) for row in shown]
        if shown
        else attempts(run, tries, now)
    )
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


def freed(
    run: Run[Any], rows: Sequence[StepRow], declared: Sequence[StepSpec]
) -> dict[int, datetime]:
    """By number, from when on those steps were free to go that have begun, or have not yet."""
    found = {}
    ended = {row.name: row.ended_at for row in rows}
    edges = {spec.no: spec.edges for spec in declared}
    for row in rows:
        if row.no not in edges or row.run_id is None or run.started_at is None:
            continue
        waits = not row.over and row.state in WAITING and not row.counts_needs
        if row.started_at is not None or waits:
            ends = [end for name in edges[row.no] if (end := ended.get(name)) is not None]
            found[row.no] = max([run.started_at, *ends])
    return found


async def attempts_at(db: Database, ids: Sequence[int]) -> dict[int, list[Segment]]:
    """By run, the last attempts at it, numbered over all that there were."""
    found: dict[int, list[Row]] = defaultdict(list)
    for row in await fetched(db, ATTEMPTS, list(ids)):
        found[row["run_id"]].append(row)
    again = await retries(db, ids)
    return {
        run_id: [
            attempt(row, number, again.get((run_id, number - 1)))
            for number, row in enumerate(rows, rows[0]["made"] + 1 - sum(r["kept"] for r in rows))
            if row["started_at"] is not None
        ]
        for run_id, rows in found.items()
    }


def chosen(rows: Sequence[StepRow]) -> list[StepRow]:
    """At most ``MOST`` steps, in their order; of more, what failed or goes before what is done."""
    if len(rows) <= MOST:
        return list(rows)
    quiet = (State.SUCCEEDED, State.SKIPPED)
    return sorted(rows, key=lambda row: (row.state in quiet, row.no))[:MOST]


def attempt(row: Row, number: int, again: Retried | None) -> Segment:
    """An attempt as it is stored."""
    error = Failure.from_json(json.loads(row["error"])).in_line if row["error"] else ""
    return Segment(
        start=row["started_at"],
        end=row["ended_at"],
        mark=LOOKS.get(row["outcome"], WAIT),
        attempt=number,
        error=error,
        retried=again.told if again else "",
    )


def bar_of_step(
    row: StepRow, tries: Mapping[int, list[Segment]], now: datetime, free: datetime | None
) -> Bar:
    """A step: its attempts, and the waits between them; one that is made of runs in one piece.

    ``free``: from when on it could have gone; until the first attempt it waits.
    """
    waits = row.wait is not None and row.wait.cause is not WaitCause.CHILDREN
    if (row.items is not None or row.child is not None) and row.started_at is not None:
        whole = Segment(start=row.started_at, end=row.ended_at, mark=row.mark)
        segments: tuple[Segment, ...] = (whole,)
    else:
        segments = with_waits(tries.get(row.run_id or 0, []), now if waits else None)
    first = segments[0].start if segments else None
    if free is not None and first is None and row.started_at is None:
        segments = (Segment(start=free, end=None, mark=WAIT),)
    elif free is not None and first is not None and (first - free).total_seconds() > SHORT:
        segments = (Segment(start=free, end=first, mark=WAIT), *segments)
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
                segments=(*waited, each), took=took, note=each.retried,
            )
        )  # fmt: skip
    last = found[-1].end if found else run.created_at
    if last is not None and not run.state.ended and run.state is not State.RUNNING:
        wait = Segment(start=last, end=None, mark=WAIT)
        mark = marks.of_run(run)
        bars.append(Bar(name=mark.word, mark=mark, run_id=None, segments=(wait,)))
    return bars
