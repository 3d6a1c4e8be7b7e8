"""The client beside the database and the one over HTTP: the same script, the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import nan
from typing import Any

import pytest

from koken import Client, Job
from koken.client import remotelooks
from koken.errors import InvalidArguments, KeyConflict, NotFound, Overlapping, Refused
from koken.model.plan import Input
from koken.model.states import State
from tests.client.test_remote import program, token
from tests.support.moments import until_sync
from tests.web.browser.conftest import Site, served

FIRST, THIRD = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
DAYS: dict[str, Any] = {"since": FIRST, "until": THIRD}


@pytest.fixture
def site(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    with served(program()) as found:
        yield found


@pytest.fixture(params=["database", "console"])
def client(request: pytest.FixtureRequest, site: Site) -> Iterator[Client]:
    if request.param == "database":
        made = Client(program(), by="token read+start+operate")
    else:
        made = Client(site.address, token=token(site, "read", "start", "operate"))
    with made as client:
        yield client


def test_the_same_script(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remotelooks, "LINES", 1)
    job: Job[..., date] = program().registry.get("double")
    run = client.start(job, date(2026, 3, 8))
    assert (run.args, run.trigger.by) == (
        {"day": "2026-03-08", "factor": 2},
        "token read+start+operate",
    )
    assert client.result(run, timeout=20) == date(2026, 3, 8)
    until_sync(lambda: len(client.logs(run)) == 3)
    assert [line.text for line in client.logs("double", limit=20_000)] == ["one", "two", "doubled"]
    assert [line.text for line in client.logs(run, limit=2)] == ["two", "doubled"]
    with pytest.raises(Refused, match=rf"double {run.id} has ended already \(succeeded\)"):
        client.cancel(run, reason="too late")
    again = client.rerun(run, reason="once more")
    assert (again.origin and again.origin.id, again.args) == (run.id, run.args)
    client.wait(again, timeout=20)
    assert [each.id for each in client.find("job:double", limit=5_000)] == [again.id, run.id]
    assert [each.id for each in client.find(before=again.id)] == [run.id]

    failed = client.wait(client.start(Job("flow")), timeout=20)
    assert (failed.state, failed.actions) == (
        State.FAILED,
        ("retry", "skip", "resolve", "rerun", "fork", "acknowledge"),
    )
    assert [(step.name, step.code) for step in client.steps("flow")] == [
        ("load", 4),
        ("publish", -1),
    ]
    assert [each.cause for each in client.why(failed).causes] == ["ended", "step_failed"]
    plan = client.plan("fork", failed, "publish")
    assert ([each.step for each in plan.again], plan.keeps) == (["publish"], ("load",))
    assert plan.again[0].inputs == (Input("load", at=client.steps(failed)[0].ended_at),)
    assert client.plan("retry", failed).max_attempts == 1
    assert client.acknowledge(failed, reason="seen").acknowledged_by == "token read+start+operate"
    fork = client.fork(failed, "publish", reason="a fix")
    client.wait(fork, timeout=20)
    client.mark(fork, "publish", 3, reason="not needed")
    assert client.wait(fork, timeout=20).state is State.SUCCEEDED
    bulk = client.retry_where("job:flow id:1", rate=Decimal(3), reason="all")
    assert (bulk.verb, bulk.rate, bulk.total) == ("retry", 3.0, 0)
    assert [each.id for each in client.bulks()] == [bulk.id]

    asks = client.start(Job("asks"))
    until_sync(lambda: client.questions(asks))
    assert [each.text for each in client.questions(asks)] == ["Go on?"]
    client.answer(asks, "Go on?", True, reason="said so")
    client.signal(asks, "paid", 3, reason="the bank said so")
    assert client.result(asks, timeout=20) is True

    assert [f"{due:%d}" for due in client.backfill_plan("daily", **DAYS).due] == ["01", "02"]
    done = client.backfill("daily", **DAYS, reason="a new table")
    assert [client.get(each).logical_time for each in done.runs] == [
        FIRST + timedelta(hours=2),
        FIRST + timedelta(hours=26),
    ]


WRONG: list[tuple[type[Exception], str, Callable[[Any, Any], object]]] = [
    (NotFound, "there is no run of a job ''", lambda c, r: c.get("")),
    (NotFound, r"there is no run of a job '\.'", lambda c, r: c.get(".")),
    (NotFound, r"there is no run of a job '\.\.'", lambda c, r: c.steps("..")),
    (NotFound, "there is no run of a job 'a/b'", lambda c, r: c.logs("a/b")),
    (NotFound, "there is no run -5", lambda c, r: c.get(-5)),
    (NotFound, "there is no run 4711", lambda c, r: c.wait(4711)),
    (InvalidArguments, "run: 1.5 is no run", lambda c, r: c.get(1.5)),
    (InvalidArguments, "limit: 0 is no whole number of 1", lambda c, r: c.find(limit=0)),
    (InvalidArguments, "limit: '3' is no whole number", lambda c, r: c.find(limit="3")),
    (InvalidArguments, "limit: True is no whole number", lambda c, r: c.logs(r, limit=True)),
    (InvalidArguments, "limit: -1 is no whole number", lambda c, r: c.logs(r, limit=-1)),
    (InvalidArguments, "before: 'x' is no whole number", lambda c, r: c.find(before="x")),
    (InvalidArguments, "query: 5 is not text", lambda c, r: c.find(5)),
    (InvalidArguments, "query: .* half a surrogate pair", lambda c, r: c.find("job:\ud800")),
    (InvalidArguments, "signal 'go': the value is nan", lambda c, r: c.signal(r, "go", nan)),
    (InvalidArguments, "a signal has a name in one line", lambda c, r: c.signal(r, "a\nb")),
    (InvalidArguments, "question: 5 is not text", lambda c, r: c.answer(r, 5, 1)),
    (InvalidArguments, "a step cannot be marked 'x'", lambda c, r: c.mark(r, "load", "x")),
    (InvalidArguments, r"a step cannot be marked \[\]", lambda c, r: c.mark(r, "load", [])),
    (Refused, "say which step: resolve", lambda c, r: c.mark(r, None, 4)),
    (InvalidArguments, r"\[\] has no plan; .* retry, rerun, skip", lambda c, r: c.plan([], r)),
    (InvalidArguments, "retry does not take step", lambda c, r: c.plan("retry", r, "load")),
    (InvalidArguments, "rerun does not take args", lambda c, r: c.plan("rerun", r, args={})),
    (
        InvalidArguments,
        "fork takes one step",
        lambda c, r: c.plan("fork", r, "load", from_step="load"),
    ),
    (InvalidArguments, r"args: \[1\] is not an object", lambda c, r: c.retry(r, args=[1])),
    (InvalidArguments, "args: {1: 2} is not an object", lambda c, r: c.retry(r, args={1: 2})),
    (InvalidArguments, "bad is nan", lambda c, r: c.retry(r, args={"bad": nan})),
    (
        InvalidArguments,
        "result cannot be stored as JSON",
        lambda c, r: c.resolve(r, "load", result=object()),
    ),
    (InvalidArguments, "wants a reason", lambda c, r: c.retry_where("job:x", reason="")),
    (
        InvalidArguments,
        "rate is nan; it is more than 0",
        lambda c, r: c.retry_where("job:x", rate=nan, reason="x"),
    ),
    (NotFound, "there is no bulk 'preview'", lambda c, r: c.bulk("preview")),
    (NotFound, "there is no bulk '1'", lambda c, r: c.stop_bulk("1")),
    (NotFound, r"there is no job '\.\.'", lambda c, r: c.backfill_plan("..", **DAYS)),
    (NotFound, "there is no job ''", lambda c, r: c.backfill_plan("", **DAYS)),
    (
        InvalidArguments,
        "at_once: 1.0 is no whole number",
        lambda c, r: c.backfill("daily", **DAYS, at_once=1.0),
    ),
    (
        InvalidArguments,
        "at_once: '2' is no whole number",
        lambda c, r: c.backfill_plan("daily", **DAYS, at_once="2"),
    ),
    (KeyConflict, "k1", lambda c, r: c.start(Job("flow").using(idempotency_key="k1"), bad=False)),
    (Overlapping, "alone", lambda c, r: c.start(Job("alone"))),
    (NotFound, "there is no job '?nothing", lambda c, r: c.start(Job("nothing"))),
    (
        TypeError,
        "start_many makes many",
        lambda c, r: c.start_many(Job("flow").using(idempotency_key="k1"), [{}]),
    ),
]


def test_the_same_is_refused(client: Client) -> None:
    run = client.wait(client.start(Job("flow").using(idempotency_key="k1")), timeout=20)
    client.start(Job("alone").using(delay="1h"))
    for kind, words, call in WRONG:
        with pytest.raises(kind, match=words):
            call(client, run)
    assert client.get(run).state is State.FAILED
    assert client.bulks() == []
    looks: Any = client.awaiting
    assert client.portal.call("state_of", looks.state_of(4711)) is None
