"""Every verb of repair on every state of a run and of a step: it works, or is refused in words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import koken
from koken.engine import repair
from koken.engine.repair import Order
from koken.errors import Refused
from koken.testing import TestClient

app = koken.App("matrix")
RUNS = ("retry", "rerun", "skip", "resolve", "fork", "acknowledge")
STEPS = ("retry", "skip", "resolve")
ENDED = ("succeeded", "failed", "skipped", "cancelled")


@app.job
def plain() -> None: ...


@app.workflow
def flow() -> None:
    """Two steps, of which the second is held until somebody looks."""


@flow.step
def first() -> int:
    return 1


@flow.step
def second(first: int = 0) -> int:
    return first + 1


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app, by="anna") as made:
        yield made


def change(client: TestClient, text: str, *args: object) -> None:
    """Put rows into a state behind Koken's back."""
    with psycopg.connect(client.database_url, autocommit=True) as connection:
        connection.execute("alter table koken.run disable trigger run_moves")
        connection.execute(text, args)
        connection.execute("alter table koken.run enable trigger run_moves")


def put(client: TestClient, run_id: int, state: str) -> None:
    """Have a run stand in ``state``."""
    change(
        client,
        "update koken.run set state = %s, wait_cause = case when %s = 'waiting' then 'delay' end,"
        " finished_at = case when %s then koken.now() end, error = '{}',"
        " attempt = 1, started_at = koken.now(), acknowledged_at = null where id = %s",
        state,
        state,
        state in ENDED,
        run_id,
    )


def tried(client: TestClient, verb: str, run: Any, *step: str) -> str:
    """``done``, or what the refusal says behind the run's name."""
    try:
        getattr(client, verb)(run, *step)
    except Refused as error:
        return str(error).replace(str(run), "N")
    return "done"


PLAIN = "run N is {}; only a run that failed, was cancelled or was skipped can be retried"
NO_STEP = "run N: it is no step; {} is for steps of workflows"
NO_FLOW = "run N: it is no workflow; rerun N starts it anew"
LIVE = "run N: it still goes ({}); cancel it, or wait for its end"
CLOSED = "run N is no open failure: it did not fail, or it is acknowledged"
OF_RUNS = {
    **{("retry", state): "done" for state in ("failed", "skipped", "cancelled")},
    **{("retry", s): PLAIN.format(s) for s in ("blocked", "ready", "running", "waiting")},
    ("retry", "succeeded"): PLAIN.format("succeeded"),
    **{("rerun", state): "done" for state in ENDED},
    **{("rerun", s): LIVE.format(s) for s in ("blocked", "ready", "running", "waiting")},
    **{("acknowledge", state): CLOSED for state in koken.model.states.State},
    ("acknowledge", "failed"): "done",
    ("acknowledge", "cancelled"): "done",
    **{("skip", state): NO_STEP.format("skip") for state in koken.model.states.State},
    **{("resolve", state): NO_STEP.format("resolve") for state in koken.model.states.State},
    **{("fork", state): NO_FLOW for state in koken.model.states.State},
}


@pytest.mark.parametrize("verb", RUNS)
@pytest.mark.parametrize("state", list(koken.model.states.State))
def test_runs(client: TestClient, verb: str, state: str) -> None:
    run = client.start(plain)
    put(client, run.id, state)
    rest = ("first",) if verb == "fork" else ()
    assert tried(client, verb, run.id, *rest) == OF_RUNS[verb, state]


AGAIN = "run N: it has succeeded. retry N --from STEP does a part of it again, rerun N all of it"
STEP_OF = "step first of run N: run N has ended "
GOES = (
    "step first of run N: it is {}; while its workflow goes, only what failed or was cancelled "
    "can be retried"
)
NOT_BEGUN = "step first of run N: it is {}: it goes when what it needs has; retry that"
OVER = "step first of run N: it has ended already ({})"
WORKS = "step first of run N: it is at work; cancel M, and {} it then"
OF_STEPS = {
    # verb, state of the step: while its workflow goes, after it has failed
    ("retry", "blocked"): (GOES.format("blocked"), NOT_BEGUN.format("blocked")),
    ("retry", "ready"): (GOES.format("ready"), NOT_BEGUN.format("ready")),
    ("retry", "running"): (GOES.format("running"), NOT_BEGUN.format("running")),
    ("retry", "waiting"): (GOES.format("waiting"), NOT_BEGUN.format("waiting")),
    ("retry", "succeeded"): (GOES.format("succeeded"), "done"),
    ("retry", "failed"): ("done", "done"),
    ("retry", "skipped"): (GOES.format("skipped"), "done"),
    ("retry", "cancelled"): ("done", "done"),
    **{
        ("skip", s): ("done", "done")
        for s in ("blocked", "ready", "waiting", "failed", "cancelled")
    },
    ("skip", "running"): (WORKS.format("skip"), WORKS.format("skip")),
    ("skip", "succeeded"): (OVER.format("succeeded"), OVER.format("succeeded")),
    ("skip", "skipped"): (OVER.format("skipped"), OVER.format("skipped")),
    **{
        ("resolve", s): ("done", "done")
        for s in ("blocked", "ready", "waiting", "failed", "cancelled")
    },
    ("resolve", "running"): (WORKS.format("resolve"), WORKS.format("resolve")),
    ("resolve", "succeeded"): (OVER.format("succeeded"), OVER.format("succeeded")),
    ("resolve", "skipped"): ("done", "done"),
}


@pytest.mark.parametrize("over", [False, True])
@pytest.mark.parametrize(("verb", "state"), list(OF_STEPS))
def test_steps(client: TestClient, verb: str, state: str, over: bool) -> None:
    client.failing(first, koken.Snooze("1h"))
    run = client.start(flow)
    client.drain()
    step = client.steps(run)[0].run_id
    assert step is not None
    put(client, step, state)
    if over:
        put(client, run.id, "failed")
    else:
        change(
            client,
            "update koken.run set open_children = %s where id = %s",
            int(state not in ENDED),
            run.id,
        )
    try:
        {"retry": lambda: client.retry(run, from_step="first"),
         "skip": lambda: client.skip(run, "first"),
         "resolve": lambda: client.resolve(run, "first", result=5)}[verb]()  # fmt: skip
        said = "done"
    except Refused as error:
        said = str(error).replace(f"run {run.id}", "run N").replace(f"cancel {step}", "cancel M")
    assert said == OF_STEPS[verb, state][over]
    if said == "done":
        went_on = client.fast_forward(run)
        assert went_on.state == "succeeded"
        assert went_on.result == {"retry": 2, "skip": 1, "resolve": 6}[verb]


@pytest.mark.parametrize(
    ("verb", "state", "said"),
    [
        ("retry", "succeeded", AGAIN),
        ("skip", "succeeded", STEP_OF + "(succeeded); retry N --from first lets it go again"),
        ("skip", "cancelled", STEP_OF + "(cancelled); retry N lets it go again"),
        ("resolve", "cancelled", STEP_OF + "(cancelled); retry N lets it go again"),
        ("fork", "waiting", "run N: it still goes (waiting); fork it when it has ended"),
        ("fork", "failed", "done"),
        ("fork", "succeeded", "done"),
        ("rerun", "failed", "done"),
        ("retry", "failed", "done"),
        ("retry", "cancelled", "done"),
    ],
)  # fmt: skip
def test_workflows(client: TestClient, verb: str, state: str, said: str) -> None:
    client.failing(first, OSError("x"))
    run = client.fast_forward(client.start(flow))
    put(client, run.id, state)
    rest = ("first",) if verb in ("skip", "resolve", "fork") else ()
    assert tried(client, verb, run.id, *rest) == said


@pytest.mark.parametrize(
    ("state", "actions"),
    [
        ("failed", ("retry", "skip", "resolve", "rerun", "fork", "acknowledge")),
        ("cancelled", ("retry", "rerun", "fork", "acknowledge")),
        ("succeeded", ("rerun", "fork")),
        ("waiting", ("cancel",)),
    ],
)
def test_actions_of_a_workflow(client: TestClient, state: str, actions: tuple[str, ...]) -> None:
    client.failing(first, OSError("x"))
    run = client.fast_forward(client.start(flow))
    put(client, run.id, state)
    assert client.get(run.id).actions == actions


@pytest.mark.parametrize(
    ("state", "actions", "of_step"),
    [
        ("failed", ("retry", "rerun", "acknowledge"), ("retry", "skip", "resolve")),
        ("cancelled", ("retry", "rerun", "acknowledge"), ("retry", "skip", "resolve")),
        ("skipped", ("retry", "rerun"), ("retry", "resolve")),
        ("succeeded", ("rerun",), ("retry",)),
        ("running", ("cancel",), ("cancel",)),
        ("ready", ("cancel",), ("cancel", "skip", "resolve")),
    ],
)
def test_actions_of_others(
    client: TestClient, state: str, actions: tuple[str, ...], of_step: tuple[str, ...]
) -> None:
    run = client.start(plain)
    put(client, run.id, state)
    assert client.get(run.id).actions == actions
    whole = client.fast_forward(client.start(flow))
    step = client.steps(whole)[0].run_id or 0
    put(client, step, state)
    assert client.get(step).actions == of_step


@pytest.mark.parametrize("verb", STEPS)
def test_of_many_at_once_one_repairs_and_the_others_are_refused(
    client: TestClient, verb: str
) -> None:
    client.failing(first, OSError("x"))
    run = client.fast_forward(client.start(flow))
    db = client.awaiting.link.db

    async def all_at_once() -> list[Any]:
        result = "5" if verb == "resolve" else None
        order = Order(verb=verb, run_id=run.id, step="first", by="anna", result=result)
        return await asyncio.gather(
            *(repair.repair(db, order) for _ in range(6)), return_exceptions=True
        )

    found = client.portal.call("test", all_at_once())
    done = [each for each in found if not isinstance(each, BaseException)]
    assert len(done) == 1
    assert all(isinstance(each, Refused) for each in found if each not in done)
    with psycopg.connect(client.database_url) as connection:
        told = connection.execute(
            "select verb from koken.event where run_id = %s", (run.id,)
        ).fetchall()
    assert told == [(verb,)]
    assert client.fast_forward(run).state == "succeeded"
