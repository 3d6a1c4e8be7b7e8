"""Runs as people see them: one, and lists by keyset."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from koken.errors import InvalidArguments, NotFound
from koken.model import codec, fields
from koken.model.plain import stamp
from koken.model.run import Run
from koken.model.runparts import Children, Failure, Origin, Progress, Trigger, TriggerKind, Wait
from koken.model.states import State, WaitCause
from koken.store.database import Database, Row
from koken.views.pages import page
from koken.views.query import Query, is_id, parse
from koken.views.reading import reading, rows

COLUMNS = """
  r.id, j.name as job, v.number as version, w.name as workspace, r.state, q.name as queue,
  r.priority, r.attempt, r.max_attempts, r.infra_attempt, r.max_infra_attempts, r.trigger_kind,
  r.trigger_by, s.expression as schedule, r.since_at, r.result::text as result,
  r.error::text as error, r.progress, r.progress_text, r.wait_cause, r.wake_at, r.wait_for,
  k.name as worker, r.subject, r.idempotency_key, r.logical_at, r.parent_id, r.root_id, r.step,
  r.step_no, r.need_rule is not null as is_step, r.settle, r.made, r.open_children,
  r.bad_children, r.released, r.at_once, r.undoes_id, r.origin_id, r.origin_verb,
  coalesce(extract(epoch from r.idle), 0)::float8 as idle,
  r.step_no is null and r.made is not null
    and exists (select from koken.step t where t.version_id = r.version_id) as is_workflow,
  r.cancel_requested_at, r.created_at, r.started_at, r.claimed_at, r.finished_at,
  r.acknowledged_by,
  case when r.step_no is null then v.argument_names end as argument_names,
  case when v.secret_arguments <> '{}' then (v.spec -> 'parameters')::text end as veil,
  coalesce(r.args::text, (select a.args::text from koken.run_args a where a.run_id = r.id)) as args
"""
TABLES = """
  koken.run r
  join koken.job j on j.id = r.job_id
  join koken.job_version v on v.id = r.version_id
  join koken.workspace w on w.id = r.workspace_id
  join koken.queue q on q.id = r.queue_id
  left join koken.worker k on k.id = r.worker_id
  left join koken.schedule s on s.id = r.schedule_id
"""
ONE_RUN = f"select {COLUMNS} from {TABLES} where r.id = $1"
THESE = f"select {COLUMNS} from {TABLES} where r.id = any($1::bigint[]) order by r.id desc"
MOST = 1000
"""Runs in one page."""


def arguments(text: str, names: Sequence[str] | None) -> dict[str, Any]:
    """The arguments of a run, in the order of ``names`` where these are known.

    As one text under "?" where they cannot be read.
    """
    found = codec.decode_whatever(text)
    return fields.in_order(found, names or ()) if isinstance(found, dict) else {"?": found}


def run_of(row: Row) -> Run[Any]:
    """A row as a snapshot."""
    state = State(row["state"])
    failure = failure_of(row, state)
    return Run(
        id=row["id"],
        job=row["job"],
        version=row["version"],
        workspace=row["workspace"],
        state=state,
        queue=row["queue"],
        priority=row["priority"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        infra_attempt=row["infra_attempt"],
        max_infra_attempts=row["max_infra_attempts"],
        trigger=Trigger(
            kind=TriggerKind(row["trigger_kind"]),
            by=row["trigger_by"] or "",
            schedule=row["schedule"],
            due_at=row["logical_at"] if row["schedule"] else None,
            since=row["since_at"],
        ),
        args=arguments(row["args"] or "{}", row["argument_names"]),
        veil=json.loads(row["veil"]) if row["veil"] else {},
        result=codec.decode_whatever(row["result"]) if row["result"] else None,
        reason="" if failure is None else failure.in_line,
        error=failure if failure and (failure.is_error or state is State.FAILED) else None,
        progress=Progress(percent=row["progress"], message=row["progress_text"] or ""),
        wait=wait_of(row),
        worker=row["worker"],
        subject=row["subject"],
        idempotency_key=row["idempotency_key"],
        logical_time=row["logical_at"],
        parent_id=row["parent_id"],
        root_id=row["root_id"] or row["id"],
        step=row["step"],
        step_no=row["step_no"],
        settle=State(row["settle"]) if row["settle"] else None,
        undoes_id=row["undoes_id"],
        is_workflow=row["is_workflow"],
        is_item=row["step_no"] is not None and not row["is_step"] and row["undoes_id"] is None,
        children=children_of(row),
        origin=Origin(id=row["origin_id"], verb=row["origin_verb"]) if row["origin_id"] else None,
        cancelling=row["cancel_requested_at"] is not None,
        created_at=row["created_at"],
        started_at=row["started_at"],
        claimed_at=row["claimed_at"],
        ended_at=row["finished_at"],
        idle=row["idle"],
        cancelled_by=failure.by or None if failure and state is State.CANCELLED else None,
        acknowledged_by=row["acknowledged_by"],
    )


def failure_of(row: Row, state: State) -> Failure | None:
    """What the run of a row says of how it stands; what it has waited for is past once it goes."""
    if not row["error"] or state is State.SUCCEEDED:
        return None
    found = Failure.from_json(json.loads(row["error"]))
    ending = state.ended or row["settle"] or row["cancel_requested_at"]
    return found if found.is_error or ending or state is State.WAITING else None


def wait_of(row: Row) -> Wait | None:
    """What the run of a row waits for."""
    if not row["wait_cause"]:
        return None
    cause = WaitCause(row["wait_cause"])
    return Wait(cause=cause, until=row["wake_at"], wait_for=row["wait_for"])


def children_of(row: Row) -> Children | None:
    """How far the runs are that the run of a row is made of; None for one that is made of none."""
    if row["made"] is None:
        return None
    released = row["made"] if row["at_once"] is None else row["released"] or 0
    return Children(
        made=row["made"],
        going=row["open_children"] or 0,
        held=max(row["made"] - released, 0),
        bad=row["bad_children"] or 0,
    )


async def get(db: Database, run: int | str, *, workspace: str) -> Run[Any]:
    """A run by its id, or the last run of a job by its name. Raises ``NotFound``."""
    if isinstance(run, str) and not run.isdigit():
        return await last(db, run, workspace=workspace)
    if is_id(str(run)):
        found = await rows(db, f"{ONE_RUN} and w.name = $2", int(run), workspace)
        if found:
            return run_of(found[0])
    raise NotFound(f"there is no run {run} in workspace {workspace!r}")


async def last(db: Database, job: str, *, workspace: str) -> Run[Any]:
    """The last run of a job. Raises ``NotFound``."""
    query = Query()
    query.jobs.add("j.name = {}", job)
    found = await matching(db, query, workspace=workspace, limit=1)
    if not found:
        raise NotFound(f"there is no run of a job {job!r}; `koken jobs` lists the jobs")
    return found[0]


async def get_many(db: Database, ids: Sequence[int]) -> dict[int, Run[Any]]:
    """Runs by their ids, whatever their workspace: for those that a caller has just started.

    One alone is asked for by a statement whose plan PostgreSQL keeps; that for several is planned
    anew each time, which takes longer than to carry it out.
    """
    found = rows(db, ONE_RUN, ids[0]) if len(ids) == 1 else rows(db, THESE, list(ids))
    return {row["id"]: run_of(row) for row in await found}


async def find(
    db: Database, query: str, *, workspace: str, limit: int = 50, before: int | None = None
) -> list[Run[Any]]:
    """The newest runs that match, at most ``limit``; ``before``: where the last page ended.

    One more than ``MOST`` may be asked for, which tells whether there are more. Raises
    ``InvalidArguments`` for a bad query, or a ``before`` that is no run's number.
    """
    if before is not None and not is_id(str(before)):
        raise InvalidArguments(f"before is {before!r}, which is no run's number")
    asked = parse(query)
    return await matching(db, asked, workspace=workspace, limit=min(limit, MOST + 1), end=before)


async def matching(
    db: Database, query: Query, *, workspace: str, limit: int, end: int | None = None
) -> list[Run[Any]]:
    """The newest runs that match."""
    async with reading(db) as session:
        ids = await page(session, query, workspace=workspace, limit=limit, end=end)
        found = await session.fetch_text(THESE, ids)
    return [run_of(row) for row in found]


async def states(db: Database, ids: Sequence[int]) -> dict[int, State]:
    """Only the states of these runs."""
    found = await rows(
        db, "select id, state from koken.run where id = any($1::bigint[])", list(ids)
    )
    return {row["id"]: State(row["state"]) for row in found}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """One try at a run."""

    attempt: int
    lease: int
    outcome: str
    worker: str | None
    started_at: datetime | None
    ended_at: datetime | None
    error: Failure | None
    peak_bytes: int | None
    """Memory of its largest process at its worst; None for one without a process of its own."""
    cpu_seconds: float | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "attempt": self.attempt,
            "lease": self.lease,
            "outcome": self.outcome,
            "worker": self.worker,
            "started_at": stamp(self.started_at),
            "ended_at": stamp(self.ended_at),
            "error": self.error.to_json() if self.error else None,
            "peak_bytes": self.peak_bytes,
            "cpu_seconds": self.cpu_seconds,
        }


ATTEMPTS = """
select x.*, u.peak_bytes, u.cpu_seconds
  from (
    select a.attempt, a.lease, a.outcome, k.name as worker, a.started_at, a.ended_at,
           a.error::text as error
      from koken.attempt a left join koken.worker k on k.id = a.worker_id
     where a.run_id = $1
    union all
    select r.attempt, r.lease, case r.state when 'running' then 'running' else 'succeeded' end,
           k.name, r.claimed_at, r.finished_at, null
      from koken.run r left join koken.worker k on k.id = r.worker_id
     where r.id = $1 and r.state in ('running', 'succeeded')
       and not exists (select from koken.attempt a where a.run_id = r.id and a.lease = r.lease)
  ) x left join koken.usage u on u.run_id = $1 and u.lease = x.lease
 where $2::int is null or x.lease > $2
 order by x.lease limit $3::int
"""


async def attempts(
    db: Database, run_id: int, *, after: int | None = None, limit: int | None = None
) -> list[AttemptRow]:
    """All tries at a run, oldest first, the one at work included.

    A page of them begins ``after`` a lease.
    """
    return [
        AttemptRow(
            attempt=row["attempt"],
            lease=row["lease"],
            outcome=row["outcome"],
            worker=row["worker"],
            started_at=row["started_at"],
            ended_at=row["ended_at"],
            error=Failure.from_json(json.loads(row["error"])) if row["error"] else None,
            peak_bytes=row["peak_bytes"],
            cpu_seconds=row["cpu_seconds"],
        )
        for row in await rows(db, ATTEMPTS, run_id, after, limit)
    ]
