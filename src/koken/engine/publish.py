"""The moment a program's jobs become known, or known in another shape."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from koken.engine import events
from koken.engine.grant import sweep
from koken.model.job import JobSpec
from koken.model.schedule import Schedule
from koken.model.steps import StepSpec
from koken.model.zones import tzdata_version
from koken.store.database import Database, Row, Transaction
from koken.store.statements import Statement

KNOWN_JOBS = Statement("known_jobs")
PUBLISH_JOB = Statement("publish_job")
PUBLISH_STEPS = Statement("publish_steps")
PUBLISH_VERSION = Statement("publish_version")
MAKE_CURRENT = Statement("make_current")
RETIRE_JOBS = Statement("retire_jobs")
KEEP_SCHEDULES = Statement("keep_schedules")
CURRENT_SCHEDULES = Statement("current_schedules")
SAVE_SCHEDULE = Statement("save_schedule")
SET_LOCK_LIMIT = Statement("set_lock_limit")
NOW = Statement("now")


@dataclass(slots=True)
class Published:
    """What a publication changed."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)


async def publish(
    db: Database, app: str, specs: Sequence[JobSpec], *, by: str, whole: bool
) -> Published:
    """Make these jobs known and current, with their schedules.

    ``whole``: they are all that the app has, so that its other jobs are retired; without it only
    jobs that nobody has published yet are added. What is as it was costs one statement.
    """
    done = Published()
    names = [spec.name for spec in specs]
    known = {row["name"]: row for row in await db.fetch(KNOWN_JOBS, names)}
    for spec in specs:
        row = known.get(spec.name)
        if row is None or (whole and differs(row, app, spec)):
            await db.run(partial(publish_job, app=app, spec=spec, by=by))
            (done.added if row is None else done.changed).append(spec.name)
    if whole:
        await retire(db, app, names, done)
    if done.changed:
        await sweep(db)
    return done


def differs(row: Row, app: str, spec: JobSpec) -> bool:
    """Whether what is stored of a job is not what the app says now."""
    return bool(
        row["fingerprint"] != spec.fingerprint()
        or row["retired_at"] is not None
        or row["app"] != app
    )


async def publish_job(tx: Transaction, *, app: str, spec: JobSpec, by: str) -> None:
    """One job with its schedules, in one transaction."""
    (job,) = await tx.fetch(PUBLISH_JOB, spec.name, app)
    (version,) = await tx.fetch(
        PUBLISH_VERSION,
        job["id"],
        spec.fingerprint(),
        json.dumps(spec.to_json()),
        by,
        spec.queue,
        spec.start_timeout,
        spec.run_timeout,
        list(spec.argument_names) if spec.parameters else None,
        list(spec.parameters.get("required", ())),
        list(spec.secret_arguments),
    )
    if spec.steps:
        await tx.fetch(PUBLISH_STEPS, version["id"], *step_columns(spec.steps))
    moved = await tx.fetch(MAKE_CURRENT, job["id"], version["id"])
    if spec.lock is not None:
        await tx.fetch(SET_LOCK_LIMIT, spec.lock.key, spec.lock.limit)
    await save_schedules(tx, job["id"], spec.schedules)
    if moved and job["version_id"] is not None:
        await events.record(tx, "publish", by, job_id=job["id"])


def step_columns(steps: Sequence[StepSpec]) -> tuple[list[Any], ...]:
    """The steps of a version as the statement's arrays."""
    numbers = {step.name: step.no for step in steps}
    frees: dict[str, list[int]] = {step.name: [] for step in steps}
    for step in steps:
        for name, hard in step.edges.items():
            frees[name].append(-numbers[step.name] if hard else numbers[step.name])
    locks = [step.lock for step in steps]
    return (
        [step.no for step in steps],
        [step.name for step in steps],
        [step.queue for step in steps],
        [step.priority for step in steps],
        [step.max_attempts for step in steps],
        [step.max_infra_attempts for step in steps],
        [step.join.value for step in steps],
        [len(step.edges) for step in steps],
        [f"{{{','.join(map(str, frees[step.name]))}}}" for step in steps],
        [lock and lock.key for lock in locks],
        [lock and lock.mode.value for lock in locks],
        [lock and lock.limit for lock in locks],
        [lock and lock.when_held.value for lock in locks],
        [step.each is not None for step in steps],
        [step.compensates for step in steps],
        [bool(step.arguments) or any(name not in numbers for name in step.asks) for step in steps],
        [taken(step, steps, numbers) for step in steps],
    )


def taken(step: StepSpec, steps: Sequence[StepSpec], numbers: Mapping[str, int]) -> str | None:
    """The numbers of the steps whose results a step takes; None when one of them has items."""
    wanted = sorted(numbers[name] for name in step.takes)
    if any(steps[no - 1].each is not None for no in wanted):
        return None
    return f"{{{','.join(map(str, wanted))}}}"


async def save_schedules(tx: Transaction, job_id: int, schedules: Sequence[Schedule]) -> None:
    """Bring a job's stored schedules in line; those that say what they said stay untouched."""
    stored = {row["name"]: row for row in await tx.fetch(CURRENT_SCHEDULES, job_id)}
    now: datetime = (await tx.fetch(NOW))[0]["now"]
    named = {schedule.name or str(n): schedule for n, schedule in enumerate(schedules, 1)}
    for name, schedule in named.items():
        declared = schedule.to_json()
        row = stored.get(name)
        if row is not None and row["retired_at"] is None and same(row["declared"], declared):
            continue
        await tx.fetch(
            SAVE_SCHEDULE,
            job_id,
            name,
            json.dumps(declared),
            schedule.expression,
            schedule.zone,
            schedule.catchup.value,
            tzdata_version(),
            schedule.next_after(now),
        )
    await tx.fetch(KEEP_SCHEDULES, job_id, list(named))


def same(stored: str, declared: Mapping[str, Any]) -> bool:
    """Whether a stored schedule says the same."""
    return bool(json.loads(stored) == json.loads(json.dumps(declared)))


async def retire(db: Database, app: str, names: Sequence[str], done: Published) -> None:
    """Retire the app's jobs that it no longer declares; their history stays."""

    async def work(tx: Transaction) -> list[str]:
        rows = await tx.fetch(RETIRE_JOBS, app, list(names))
        for row in rows:
            await tx.fetch(KEEP_SCHEDULES, row["id"], [])
        return [row["name"] for row in rows]

    done.retired = await db.run(work)
