"""Steps of a program that is not the one with which the run began."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import koken
from koken.define.workflow import Workflow
from koken.runtime.plans import Plan, Plans
from koken.runtime.stepping import Steps
from koken.store.database import Database

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


def flow(step: Callable[..., Any], **options: Any) -> tuple[koken.App, Workflow[..., Any]]:
    """A workflow with a list, a number and the step ``b``."""
    app = koken.App("changes")
    made = app.workflow("w")

    @made.step
    def a() -> list[int]:
        return [1]

    @made.step
    def n() -> int:
        return 1

    made.step(step, name="b", **options)
    return app, made


def plan(app: koken.App) -> Plan:
    """The version that a run of the app began with."""
    (spec,) = app.registry.specs()
    return Plan(json.loads(json.dumps(spec.to_json())))


def takes_both(a: list[int], n: int) -> int:
    return n


def takes_one(a: list[int]) -> int:
    return 1


def each_of(x: int) -> int:
    return x


def changed(before: koken.App, after: tuple[koken.App, Workflow[..., Any]]) -> str | None:
    """What is said of step ``b``."""
    app, job = after
    db = Database(NOWHERE)
    steps = Steps(db, app.registry, Plans(db), lambda: 0.0)
    version = plan(before)
    found = steps.changed(version, version.step(3), job)
    return None if found is None else f"{found.type}: {found.message}"


def test_the_same_shape_goes_on() -> None:
    assert changed(flow(takes_both)[0], flow(takes_both, max_attempts=5)) is None


def test_other_inputs_are_refused() -> None:
    assert changed(flow(takes_both)[0], flow(takes_one)) == (
        "WorkflowChanged: step b of w is not what it was when the run began: it takes a now, and "
        "took a, n then. Nothing is mixed; start the job anew: koken rerun"
    )


def test_a_step_that_has_items_now_is_refused() -> None:
    assert changed(flow(takes_one)[0], flow(each_of, each={"x": "a"})) == (
        "WorkflowChanged: step b of w is not what it was when the run began: it takes each of a "
        "now, and took a then. Nothing is mixed; start the job anew: koken rerun"
    )
