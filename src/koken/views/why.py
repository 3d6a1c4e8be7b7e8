"""Why is it not running? Every cause there is, from rows alone, in words and as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from koken.model.duration import in_words
from koken.model.run import Run
from koken.model.states import State, WaitCause
from koken.model.steps import StepSpec
from koken.model.timing import DEFAULT, Timing
from koken.store.database import Database, Transaction
from koken.views import words
from koken.views.cause import Cause
from koken.views.reading import reading
from koken.views.runs import ONE_RUN, run_of
from koken.views.steprows import StepRow
from koken.views.steps import declared_in, rows_in, undone_in
from koken.views.whysteps import DONE, of_blocked, of_record, of_undone, of_waiting, of_workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """The causes, the most telling first."""

    run: Run[Any]
    causes: tuple[Cause, ...]
    steps: tuple[StepRow, ...] = ()
    """The steps or items that ``run`` is made of."""

    def to_json(self) -> dict[str, Any]:
        """As the API and ``--json`` show it."""
        return {
            "run": str(self.run.id),
            "state": self.run.state.value,
            "causes": [cause.to_json() for cause in self.causes],
        }


HOLDERS = """
select mine.run_id, k.key, k.max_holders, o.run_id as held_by, j.name as job, o.granted_at as since,
       (select count(*) from (
          select from koken.hold w where w.lock_id = k.id and w.granted_at is null
             and (w.rank, w.run_id) < (mine.rank, mine.run_id)
          limit 1001) x) as ahead
  from koken.hold mine
  join koken.lock k on k.id = mine.lock_id
  left join lateral (
    select h.run_id, h.granted_at from koken.hold h
     where h.lock_id = mine.lock_id and h.granted_at is not null
     order by h.granted_at limit 1) o on true
  left join koken.run r on r.id = o.run_id
  left join koken.job j on j.id = r.job_id
 where mine.run_id = any($1::bigint[]) and mine.granted_at is null
"""
QUEUE = """
select q.id, q.name, q.paused_at, q.paused_by, q.pause_reason, q.max_running, q.rate, q.rate_at,
       (select count(*) from (
          select from koken.run r where r.queue_id = q.id and r.state = 'running'
          limit 1001) x) as running
  from koken.queue q join koken.run r on r.queue_id = q.id
 where r.id = $1
"""
WORKERS = """
select k.name, k.slots, k.busy, (k.queues ->> $1)::int as queue_slots,
       (select count(*) from (
          select from koken.run r where r.worker_id = k.id and r.state = 'running'
             and r.queue_id = $2
          limit 1001) x) as taken
  from koken.worker k
 where k.lost_at is null and k.cleared_at is null and k.draining_at is null and k.suspect_at is null
   and k.queues ? $1
"""
AHEAD = """
select count(*) as ahead from (
  select from koken.run o, koken.run r
   where r.id = $1 and o.state = 'ready' and o.queue_id = r.queue_id
     and o.workspace_id = r.workspace_id and (o.rank, o.id) < (r.rank, r.id)
   limit 1001) x
"""


SILENCE = """
select extract(epoch from koken.now() - k.beat_at)::float8 as seconds
  from koken.run r join koken.worker k on k.id = r.worker_id where r.id = $1
"""


DEEPEST, LOOKED_AT, TOLD_BELOW = 3, 5, 3
"""Runs below one another, those of steps side by side, and the causes of each that are told."""
UNTOLD = ("ended", "children", "recorded", "more")
"""Causes of a run below that its steps tell better."""


async def why(db: Database, run: Run[Any], timing: Timing = DEFAULT) -> Why:
    """Why ``run`` stands as it does; ``timing`` says how long a worker may be silent."""
    async with reading(db) as session:
        causes, rows = await all_of(session, run, timing, DEEPEST)
    return Why(run=run, causes=tuple(causes), steps=tuple(rows))


async def all_of(
    session: Transaction, run: Run[Any], timing: Timing, deep: int
) -> tuple[list[Cause], list[StepRow]]:
    """All causes, and the steps; ``deep``: so many runs below one another are looked into."""
    declared: Sequence[StepSpec] = ()
    rows: list[StepRow] = []
    if run.state not in (State.SUCCEEDED, State.SKIPPED):
        declared = await declared_in(session, run)
        rows = await rows_in(session, run, declared)
    causes = await own(session, run, rows)
    if run.state is State.RUNNING:
        causes += await silence(session, run, timing)
    if run.state not in (State.SUCCEEDED, State.SKIPPED):
        causes += of_record(rows)
        below = await of_children(session, rows, timing, deep) if deep else {}
        held = await of_held(session, rows)
        for cause in of_workflow(rows, declared):
            causes += held.pop(cause.step or "", ()) or [cause]
            causes += below.pop(cause.step or "", ())
        causes += of_undone(await undone_in(session, run))
    return causes, rows


async def of_children(
    session: Transaction, rows: Sequence[StepRow], timing: Timing, deep: int
) -> dict[str, list[Cause]]:
    """By step, why the run stands as it does that the step waits for, or failed with."""
    found: dict[str, list[Cause]] = {}
    for row in [row for row in rows if row.child is not None and row.state not in DONE][:LOOKED_AT]:
        assert row.child is not None
        for child in await session.fetch_text(ONE_RUN, row.child.id):
            causes, _ = await all_of(session, run_of(child), timing, deep - 1)
            telling = [cause for cause in causes if cause.cause not in UNTOLD][:TOLD_BELOW]
            found[row.name] = [
                replace(cause, step=" → ".join(filter(None, [row.name, cause.step])))
                for cause in telling
            ]
    return found


async def of_held(session: Transaction, rows: Sequence[StepRow]) -> dict[str, list[Cause]]:
    """By step, what keeps one that could go: who holds its lock, what is wrong with its queue."""
    free = [row for row in rows if row.run_id is not None and not row.over and not row.counts_needs]
    locked = [row for row in free if row.state is State.BLOCKED]
    causes = await of_locks(session, [row.run_id for row in locked if row.run_id is not None])
    found = {row.name: causes.get(row.run_id or 0, []) for row in locked}
    for row in [row for row in free if row.state is State.READY][:LOOKED_AT]:
        of_queue = await ready(session, row.run_id or 0)
        found[row.name] = [cause for cause in of_queue if cause.cause != "in_line"]
    return {
        name: [replace(each, step=name, text=f"waits: {each.text}") for each in own]
        for name, own in found.items()
    }


async def own(session: Transaction, run: Run[Any], rows: Sequence[StepRow] = ()) -> list[Cause]:
    """What is to be said of the run itself, whose steps are ``rows``."""
    if run.state.ended:
        return [Cause(cause="ended", text=ended(run), since=run.ended_at)]
    if run.state is State.RUNNING:
        if run.cancelling:
            text = f"it was asked to stop; {run.worker} stops it now"
            return [Cause(cause="cancelling", text=text)]
        return [Cause(cause="running", text=f"it runs on {run.worker}", since=run.started_at)]
    if run.state is State.WAITING:
        by_time = run.wait is None or run.wait.cause in (WaitCause.RETRY, WaitCause.DELAY)
        return [waiting(run)] if by_time else await of_waiting(session, run, rows)
    if run.state is State.BLOCKED:
        return await of_blocked(session, run) or (await of_locks(session, [run.id])).get(run.id, [])
    return await ready(session, run.id)


async def silence(session: Transaction, run: Run[Any], timing: Timing) -> list[Cause]:
    """A worker that has not been heard of for two beats."""
    found = await session.fetch_text(SILENCE, run.id)
    seconds = found[0]["seconds"] if found else 0.0
    if seconds <= 2 * timing.beat:
        return []
    left = timing.takeover - seconds
    then = f"takeover within {left:.0f} s" if left > 0 else "the next live worker takes it over"
    text = f"its worker has been silent for {in_words(round(seconds))}; {then}"
    return [Cause(cause="worker_silent", text=text)]


def ended(run: Run[Any]) -> str:
    """How it ended, in words."""
    return f"it {run.state.value}: {run.reason}" if run.reason else f"it {run.state.value}"


def waiting(run: Run[Any]) -> Cause:
    """A wait that ends by time."""
    until = run.wait.until if run.wait else None
    if run.wait and run.wait.cause is WaitCause.RETRY:
        last = f"; last time: {run.reason}" if run.reason else ""
        text = f"attempt {run.attempt} of {run.max_attempts} failed, the next one comes{last}"
        return Cause(cause="retry", text=text, until=until)
    reason = f" ({run.reason})" if run.reason else ""
    return Cause(cause="not_due", text=f"it is not due yet{reason}", until=until)


async def of_locks(session: Transaction, ids: Sequence[int]) -> dict[int, list[Cause]]:
    """By run, the locks that it waits for, and who holds them."""
    causes: dict[int, list[Cause]] = {}
    for row in await session.fetch_text(HOLDERS, list(ids)) if ids else ():
        ahead = f", with {words.capped(row['ahead'])} before it in line," if row["ahead"] else ""
        if row["held_by"] is None:
            text = f"lock {row['key']}{ahead} is free: handed out in a moment, or it is not due yet"
        else:
            limit = f" (limit {row['max_holders']})" if row["max_holders"] > 1 else ""
            text = f"lock {row['key']}{limit}{ahead} is held by run {row['held_by']} ({row['job']})"
        cause = Cause(
            cause="lock", text=text, key=row["key"], held_by=row["held_by"], since=row["since"]
        )
        causes.setdefault(row["run_id"], []).append(cause)
    return causes


async def ready(session: Transaction, run_id: int) -> list[Cause]:
    """A ready run that nobody has taken."""
    (queue,) = await session.fetch_text(QUEUE, run_id)
    causes = queue_causes(queue)
    workers = await session.fetch_text(WORKERS, queue["name"], queue["id"])
    if not workers:
        causes.append(
            Cause(
                cause="no_worker",
                text=f"no live worker serves queue {queue['name']}; "
                f"start one: koken worker --queue {queue['name']}",
                key=queue["name"],
            )
        )
    elif not causes:
        free = sum(max(row["queue_slots"] - row["taken"], 0) for row in workers)
        slots = sum(row["queue_slots"] for row in workers)
        if free == 0:
            text = f"all {slots} slots of queue {queue['name']} are taken"
            causes.append(Cause(cause="workers_busy", text=text, key=queue["name"]))
    ahead = (await session.fetch_text(AHEAD, run_id))[0]["ahead"]
    place = "it is next in line" if not ahead else f"{words.capped(ahead)} stand before it in line"
    causes.append(Cause(cause="in_line", text=f"{place} in queue {queue['name']}"))
    return causes


def queue_causes(queue: Any) -> list[Cause]:
    """What the queue itself says."""
    causes = []
    name = queue["name"]
    if queue["paused_at"] is not None:
        why_paused = f": {queue['pause_reason']}" if queue["pause_reason"] else ""
        text = f"queue {name} is paused by {queue['paused_by']}{why_paused}"
        causes.append(Cause(cause="queue_paused", text=text, key=name, since=queue["paused_at"]))
    if queue["max_running"] is not None and queue["running"] >= queue["max_running"]:
        running = words.capped(queue["running"])
        text = f"queue {name} is full: {running} of {queue['max_running']} run"
        causes.append(Cause(cause="queue_full", text=text, key=name))
    if queue["rate"] is not None:
        text = f"queue {name} starts at most one run every {in_words(1 / queue['rate'])}"
        causes.append(Cause(cause="queue_rate", text=text, key=name))
    return causes
