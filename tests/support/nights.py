"""A workflow's run as rows, each step in a state that a test says; no engine has been at it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from koken.model.accept import Accept
from koken.model.steps import Each, Join, Need, StepSpec
from tests.support.house import NOON, House

INSERT = """
insert into koken.run (
  workspace_id, job_id, version_id, queue_id, parent_id, root_id, step_no, step, state, priority,
  rank, max_attempts, max_infra_attempts, trigger_kind, logical_at, created_at, need_rule, attempt,
  open_needs, wait_cause, wake_at, wait_for, not_before_at, made, released, at_once, open_children,
  bad_children, started_at, finished_at, result, error, progress, progress_text, worker_id,
  undoes_id, claimed_at)
select p.workspace_id, p.job_id, p.version_id, p.queue_id, p.id, coalesce(p.root_id, p.id), $2, $3,
       $4, 0, koken.now(), $5, 3, 'run', p.logical_at, koken.now(), $6, $7, $8, $9, $10, $11, $12,
       $13, $14, $15, $16, $17, $18, $19, $20::jsonb, $21::jsonb, $22, $23, $24, $25, $18
  from koken.run p where p.id = $1
returning id
"""
NIGHTLY = (
    StepSpec(name="files", no=1, queue="default", max_attempts=2),
    StepSpec(
        name="table", no=2, queue="default", max_attempts=2, needs=(Need("files", None, True),),
        each=Each("file", "files", True), at_once=8, accept=Accept(0.95, of=20),
    ),
    StepSpec(
        name="size", no=3, queue="default", max_attempts=2, needs=(Need("table", "table", True),)
    ),
    StepSpec(
        name="crunch", no=4, queue="default", max_attempts=2,
        needs=(Need("table", "table", True), Need("size")), when='size is "big"', asks=("size",),
    ),
    StepSpec(
        name="add_up", no=5, queue="default", max_attempts=2,
        needs=(Need("table", "table", True), Need("size")), when='size is "small"', asks=("size",),
    ),
    StepSpec(
        name="publish", no=6, queue="default", max_attempts=2, gate="30 4 * * *",
        needs=(Need("crunch", "crunch"), Need("add_up", "add_up")),
    ),
    StepSpec(
        name="site", no=7, queue="default", kind="job", job="publish_site", needs=(Need("publish"),)
    ),
    StepSpec(
        name="apologise", no=8, queue="default", needs=(Need("site"),), join=Join.ANY_FAILED
    ),
)  # fmt: skip
ERROR = {"type": "OSError", "message": "[Errno 28] No space left on device"}


def at(hours: float) -> datetime:
    """So many hours from noon."""
    return NOON + timedelta(hours=hours)


FAILED: dict[str, dict[str, Any]] = {
    "files": {
        "state": "succeeded", "attempt": 1, "started_at": at(-7), "finished_at": at(-6.9),
        "result": list(range(214)),
    },
    "table": {
        "state": "succeeded", "started_at": at(-6.9), "finished_at": at(-3), "made": 214,
        "at_once": 8, "released": 214, "open_children": 0, "bad_children": 5, "result": [],
    },
    "size": {
        "state": "succeeded", "attempt": 1, "started_at": at(-3), "finished_at": at(-3),
        "result": "big",
    },
    "crunch": {
        "state": "failed", "attempt": 2, "started_at": at(-3), "finished_at": at(-0.25),
        "error": ERROR, "worker": "w-7",
    },
    "add_up": {
        "state": "skipped", "finished_at": at(-3),
        "error": {"type": "Skip", "message": 'size is not "small"'},
    },
    "publish": {"state": "blocked", "open_needs": 1, "not_before_at": at(16.5)},
    "site": {"state": "blocked", "open_needs": 1, "max_attempts": 1},
    "apologise": {"state": "blocked", "open_needs": 1, "max_attempts": 1},
}  # fmt: skip
"""The night on which the disk was full."""


async def insert(house: House, parent: int, no: int, step: str, **values: Any) -> int:
    """One child of a run; ``worker`` is a name."""
    worker = None
    if name := values.get("worker"):
        worker = await house.value(
            "insert into koken.worker (name, host, pid, app, version, queues, slots)"
            " values ($1, '', 1, '', '', '{}', 1) returning id",
            name,
        )
    columns = (
        "attempt", "open_needs", "wait_cause", "wake_at", "wait_for", "not_before_at", "made",
        "released", "at_once", "open_children", "bad_children", "started_at", "finished_at",
    )  # fmt: skip
    plain = [values.get(column, 0 if column == "attempt" else None) for column in columns]
    texts = [
        None if values.get(column) is None else json.dumps(values[column])
        for column in ("result", "error")
    ]
    found: int = await house.value(
        INSERT, parent, no, step, values["state"], values.get("max_attempts", 2),
        values.get("need_rule", "all_succeeded"), *plain, *texts, values.get("progress"),
        values.get("progress_text"), worker, values.get("undoes_id"),
    )  # fmt: skip
    return found


async def flow(
    house: House,
    standing: Mapping[str, Mapping[str, Any]],
    *,
    steps: tuple[StepSpec, ...] = NIGHTLY,
    name: str = "nightly",
    **run: Any,
) -> int:
    """A run of a workflow with its steps, as ``standing`` says; ``run`` are columns of its own."""
    await house.job(name, steps=steps, max_attempts=2)
    run_id = (await house.start(name, by="anna")).run_id
    for spec in steps:
        if spec.name in standing:
            await insert(house, run_id, spec.no, spec.name, **standing[spec.name])
    columns = {"started_at": at(-7), **run}
    if standing:
        columns = {"made": len(steps), "open_children": 0, **columns}
    sets = ", ".join(f"{column} = ${place}" for place, column in enumerate(columns, 2))
    await house.rows("update koken.run set state = 'running' where id = $1", run_id)
    await house.rows(f"update koken.run set {sets} where id = $1", run_id, *columns.values())
    return run_id


async def failed(house: House) -> int:
    """The night on which the disk was full, over since a quarter to twelve."""
    return await flow(house, FAILED, state="failed", finished_at=at(-0.25))
