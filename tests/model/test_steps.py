"""Steps as data."""

from __future__ import annotations

import json

from koken.model.accept import Accept
from koken.model.job import JobSpec
from koken.model.policy import Backoff, Effect, Lock
from koken.model.steps import Each, Join, Need, StepSpec

FULL = StepSpec(
    name="table",
    no=2,
    kind="job",
    job="make_table",
    description="One table.",
    queue="cpu",
    priority=3,
    max_attempts=2,
    backoff=Backoff("fixed", base=5),
    never_retry=("builtins.OSError",),
    max_infra_attempts=1,
    timeout=60.0,
    executor="process",
    lock=Lock("table:{file}", limit=2),
    effect=Effect.PURE,
    needs=(Need("files", None, hard=True), Need("size", "size"), Need("size", None, hard=True)),
    join=Join.NONE_FAILED,
    when='size is "big"',
    asks=("size",),
    each=Each("file", "files", of_step=True),
    at_once=8,
    accept=Accept(0.95, of=20),
    gate="30 16 * * *",
    window="22:00-06:00",
    window_missed="fail",
    compensates=True,
    arguments=("day",),
)
BARE = StepSpec(name="files", no=1, queue="default", backoff=None)


def test_to_json_and_back() -> None:
    for step in (FULL, BARE):
        assert StepSpec.from_json(json.loads(json.dumps(step.to_json()))) == step


def test_edges_count_each_step_once() -> None:
    assert FULL.edges == {"files": True, "size": True}
    assert FULL.inputs == {"size": "size"}


def test_fingerprint_of_a_job_sees_its_steps() -> None:
    plain = JobSpec(name="nightly")
    assert plain.to_json()["steps"] == []
    with_steps = JobSpec(name="nightly", steps=(BARE, FULL))
    assert with_steps.fingerprint() == JobSpec(name="nightly", steps=(BARE, FULL)).fingerprint()
    assert len({each.fingerprint() for each in (plain, with_steps)}) == 2
