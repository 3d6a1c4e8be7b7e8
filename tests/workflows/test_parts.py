"""Jobs and workflows as steps, schedules, options, executors."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime

import pytest

import koken
from koken.engine.claim import Claimed
from koken.engine.finish import Ending
from koken.runtime import stepping
from koken.runtime.through import wait_for_children
from tests.workflows.acts import act, never, rows
from tests.workflows.conftest import Hire


def test_a_job_as_a_step(client_of: Hire) -> None:
    app = koken.App("job")

    @app.job(max_attempts=2, backoff="1h")
    def double(number: int, factor: int = 2) -> int:
        return number * factor

    @app.workflow
    def flow(start: int) -> None: ...

    @flow.step
    def number(start: int) -> int:
        return start + 1

    flow.step(double, name="twice")
    flow.step(double, name="again", inputs={"number": "twice"})
    client = client_of(app)
    client.failing(double, OSError("once"))
    run = client.run(flow, 4)
    assert client.states(run) == {"number": "succeeded", "twice": "waiting", "again": "blocked"}
    run = client.fast_forward(run)
    assert (run.state, run.result) == ("succeeded", 20)
    assert [(each.args, each.result, each.attempt) for each in client.started(double)] == [
        ({"number": 5, "factor": 2}, 10, 2),
        ({"number": 10, "factor": 2}, 20, 1),
    ]
    assert client.attempts(run, "twice") == 1
    assert {each.root_id for each in client.started(double)} == {run.id}


def test_a_worker_that_fails_when_a_step_has_started_its_job(
    client_of: Hire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that stands is waited for; nothing is started twice, no key is taken."""
    app = koken.App("once")

    @app.job
    def double(number: int) -> int:
        return number * 2

    @app.workflow
    def flow(number: int) -> None: ...

    flow.step(double)
    client = client_of(app)
    waits: list[int] = []

    def fails_once(run: Claimed) -> Ending:
        waits.append(run.id)
        if len(waits) == 1:
            raise OSError("killed")
        return wait_for_children(run)

    monkeypatch.setattr(stepping, "wait_for_children", fails_once)
    run = client.fast_forward(client.start(flow, 4))
    assert (run.state, run.result) == ("succeeded", 8)
    assert len(client.started(double)) == 1
    assert (
        rows(client, "select idempotency_key from koken.run where idempotency_key is not null")
        == []
    )


def test_a_failure_travels_up(client_of: Hire) -> None:
    app = koken.App("up")
    inner, outer = app.workflow("inner"), app.workflow("outer")
    inner.step(act("F", "broken"), name="broken")
    outer.step(inner, name="inner")
    outer.step(never, name="then", after=["inner"])
    outer.step(act("S", "sorry"), name="sorry", after=["inner"], join="any_failed")
    client = client_of(app)
    run = client.run(outer)
    (child,) = client.started(inner)
    assert (child.state, child.reason) == (
        "failed",
        "StepFailed: step broken: OSError: broken is broken",
    )
    assert client.states(run) == {"inner": "failed", "then": "blocked", "sorry": "succeeded"}
    assert (run.state, run.reason) == (
        "failed",
        f"StepFailed: step inner: inner {child.id} failed: step broken: OSError: broken is broken",
    )


def test_a_skip_travels_up(client_of: Hire) -> None:
    app = koken.App("skip")

    @app.job
    def maybe() -> int:
        raise koken.Skip("not today")

    flow = app.workflow("flow")
    flow.step(maybe)

    @flow.step
    def wants(maybe: int) -> None:
        never()

    client = client_of(app)
    run = client.run(flow)
    assert (run.state, client.states(run)) == (
        "succeeded",
        {"maybe": "skipped", "wants": "skipped"},
    )


def test_a_child_that_is_cancelled(client_of: Hire) -> None:
    app = koken.App("cancelled")

    @app.job
    def slow() -> None:
        raise koken.Snooze("1h")

    flow = app.workflow("flow")
    flow.step(slow)
    client = client_of(app)
    run = client.run(flow)
    (child,) = client.started(slow)
    client.cancel(child, reason="enough")
    client.drain()
    run = client.get(run)
    assert (run.state, client.states(run)) == ("failed", {"slow": "cancelled"})
    assert (
        run.reason
        == f"StepFailed: step slow: slow {client.started(slow)[0].id} was cancelled: enough"
    )


def test_workflows_in_workflows(client_of: Hire) -> None:
    app = koken.App("nested")

    @app.workflow
    def leaf(n: int) -> None: ...

    @leaf.step
    def square(n: int) -> int:
        return n * n

    @app.workflow
    def branch(numbers: list[int]) -> None: ...

    branch.step(leaf, name="squares", each={"n": "numbers"}, at_once=2)

    @branch.step
    def total(squares: list[int]) -> int:
        return sum(squares)

    @app.workflow
    def tree(numbers: list[int]) -> None: ...

    tree.step(branch)
    client = client_of(app)
    run = client.run(tree, [1, 2, 3, 4])
    assert (run.state, run.result) == ("succeeded", 30)
    assert len(client.started(leaf)) == 4
    assert {each.root_id for each in client.started(leaf)} == {run.id}


def test_a_schedule_starts_a_workflow(client_of: Hire) -> None:
    app = koken.App("schedule")
    flow = app.workflow("flow", schedule="0 6 * * *", timezone="Europe/Berlin")
    seen: list[str] = []
    flow.step(act("S", "a", seen), name="a", max_attempts=2, backoff="30h")
    client = client_of(app)
    client.now = datetime(2026, 3, 10, 4, 59, tzinfo=UTC)
    client.failing("a", OSError("once"))
    (run,) = client.advance("1m")
    assert (run.state, run.trigger.kind, run.logical_time) == (
        "waiting",
        "schedule",
        datetime(2026, 3, 10, 5, 0, tzinfo=UTC),
    )
    client.advance("1d")
    assert [tick.verdict for tick in client.ticks(flow)] == ["started", "skipped"]
    assert client.fast_forward(run).state == "succeeded"


def test_steps_have_options_of_their_own(client_of: Hire) -> None:
    app = koken.App("options")
    flow = app.workflow("flow", queue="slow", priority=3, max_attempts=3)
    flow.step(act("S", "a"), name="a")
    flow.step(act("S", "b"), name="b", queue="fast", priority=-2, max_attempts=1)
    client = client_of(app)
    client.run(flow)
    found = rows(
        client,
        "select r.step, q.name, r.priority, r.max_attempts from koken.run r "
        "join koken.queue q on q.id = r.queue_id where r.step is not null order by r.step",
    )
    assert found == [("a", "slow", 3, 3), ("b", "fast", -2, 1)]


def test_priorities_order_the_steps(client_of: Hire) -> None:
    app = koken.App("order")
    flow = app.workflow("flow")
    seen: list[str] = []
    for name, priority in (("a", 5), ("b", 0), ("c", -5)):
        flow.step(act("S", name, seen), name=name, priority=priority)
    client_of(app).run(flow)
    assert seen == ["c", "b", "a"]


def test_async_steps(client_of: Hire) -> None:
    app = koken.App("async")
    flow = app.workflow("flow")

    @flow.step
    async def a(ctx: koken.AsyncContext) -> int:
        await asyncio.sleep(0)
        return ctx.run_id

    @flow.step
    async def b(a: int) -> int:
        return -a

    client = client_of(app)
    run = client.run(flow)
    (first, _) = client.steps(run)
    assert run.result == -(first.run_id or 0)


def test_a_step_sees_its_workflow(client_of: Hire) -> None:
    app = koken.App("facts")

    @app.workflow(subject="customer:{name}")
    def flow(name: str) -> None: ...

    @flow.step
    def facts(ctx: koken.Context, name: str) -> list[str]:
        ctx.log.info("here")
        return [ctx.job, str(ctx.subject), str(ctx.root_id), ctx.workspace]

    client = client_of(app)
    run = client.using(workspace="acme").run(flow, "x")
    assert run.result == ["flow", "customer:x", str(run.id), "acme"]


def test_a_durable_step_waits_and_goes_on(client_of: Hire) -> None:
    app = koken.App("durable")
    flow = app.workflow("flow")
    seen: list[str] = []

    @flow.step
    def slow(ctx: koken.Context) -> str:
        ctx.step("once", seen.append, "once")
        ctx.sleep("3h")
        answer: str = ctx.wait_signal("go", str)
        return answer

    flow.step(act("S", "after", seen), name="after", after=[slow])
    client = client_of(app)
    run = client.run(flow)
    client.advance("3h")
    assert client.states(run) == {"slow": "waiting", "after": "blocked"}
    (step, _) = client.steps(run)
    assert step.run_id is not None
    client.signal(step.run_id, "go", "now")
    client.drain()
    assert (client.get(run).state, seen) == ("succeeded", ["once", "after"])


processes = koken.App("processes")
apart = processes.workflow("apart")


def pid() -> int:
    print("in a process of its own")
    return os.getpid()


def other(pid: int) -> bool:
    return pid != os.getpid()


def undo(pid: int) -> None:
    print(f"undoes {pid}")


apart.step(pid, executor="process", compensate=undo)
apart.step(other)
apart.step(act("S", "last"), name="last", after=["other"])


def slept(ctx: koken.Context) -> int:
    ctx.sleep("1h")
    return ctx.step("pid", pid)


apart.step(slept, executor="process", after=["other"])


def test_steps_in_processes(client_of: Hire) -> None:
    client = client_of(processes)
    run = client.fast_forward(client.start(apart))
    assert (run.state, run.reason) == ("succeeded", "")
    (first, second, _, _) = client.steps(run)
    assert second.result == "true"
    assert [line.text for line in client.logs(first.run_id or 0)] == ["in a process of its own"]


def test_what_is_undone_in_processes(client_of: Hire) -> None:
    client = client_of(processes)
    client.failing("last", OSError("broken"))
    run = client.fast_forward(client.start(apart))
    assert (run.state, client.states(run)) == (
        "failed",
        {
            "pid": "succeeded",
            "other": "succeeded",
            "last": "failed",
            "slept": "succeeded",
            "undo pid": "succeeded",
        },
    )
