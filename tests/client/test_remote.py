"""The clients over HTTP: the same verbs, typed, with the same errors."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest

import koken
from koken import AsyncClient, Client, Context, Job
from koken.client import remoteasking
from koken.client.remote import RemoteClient
from koken.engine.tokens import make
from koken.errors import (
    ConsoleUnreachable,
    DeclarationError,
    Forbidden,
    InvalidArguments,
    KeyConflict,
    KokenError,
    NotFound,
    NotShown,
    NotSignedIn,
    Overlapping,
    Refused,
    RunFailed,
)
from koken.model.states import State
from tests.support.moments import until_sync
from tests.web.browser.conftest import Site, served


def program() -> koken.App:
    app = koken.App("shop")

    @app.job
    def double(ctx: Context, day: date, factor: int = 2) -> date:
        """Typed both ways."""
        for line in ("one", "two", "doubled"):
            ctx.log.info(line)
        return day.replace(year=day.year * factor // factor)

    @app.job
    def usage(max_tokens: int, token: str = "") -> dict[str, str | int]:
        """Numbers are told, texts under such a name are not."""
        return {"total_tokens": max_tokens} | ({"token": token} if token else {})

    @app.job(overlap="refuse")
    def alone() -> None:
        """One at a time."""

    @app.job(schedule="0 2 * * *", overlap="queue_all")
    def daily() -> None:
        """Every night."""

    @app.job
    def asks(ctx: Context) -> bool:
        answer = ctx.ask("Go on?", bool)
        ctx.wait_signal("paid", int)
        return answer

    @app.workflow
    def flow(bad: bool = True) -> None:
        """Two steps."""

    @flow.step
    def load(bad: bool) -> str:
        return "bad" if bad else "good"

    @flow.step
    def publish(load: str) -> None:
        if load == "bad":
            raise ValueError("nothing to publish")

    return app


@pytest.fixture
def app(database_url: str, monkeypatch: pytest.MonkeyPatch) -> koken.App:
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    return program()


@pytest.fixture
def site(app: koken.App) -> Iterator[Site]:
    with served(app) as found:
        yield found


def token(site: Site, *rights: str) -> str:
    made = make(site.house.db, "+".join(rights), rights, workspace="default", by="test")
    return site.call(made).token


@pytest.fixture
def client(site: Site) -> Iterator[Client]:
    with Client(site.address, token=token(site, "read", "start", "operate")) as client:
        yield client


def test_an_address_of_the_web_makes_a_client_that_speaks_http(site: Site) -> None:
    assert isinstance(AsyncClient(site.address), RemoteClient)
    assert not isinstance(AsyncClient(site.url), RemoteClient)


def test_a_run_from_start_to_typed_result(client: Client, app: koken.App) -> None:
    job = app.registry.get("double")
    run = client.start(job, date(2026, 3, 8))
    assert (run.job, run.args) == ("double", {"day": "2026-03-08", "factor": 2})
    assert run.trigger.by == "token read+start+operate"
    assert client.result(run, timeout=20) == date(2026, 3, 8)
    done = client.get(run)
    assert (done.state, done.actions) == (State.SUCCEEDED, ("rerun",))
    until_sync(lambda: [line.text for line in client.logs(run)] == ["one", "two", "doubled"])
    assert [each.id for each in client.find("job:double state:succeeded")] == [run.id]
    assert client.get("double").id == run.id


def test_a_result_is_told_whole_or_not_at_all(client: Client, app: koken.App) -> None:
    job = app.registry.get("usage")
    assert client.result(client.start(job, 7), timeout=20) == {"total_tokens": 7}
    run = client.start(job, 7, token="hush")
    assert (run.args, run.masked) == ({"max_tokens": 7, "token": "•••"}, ("args.token",))
    with pytest.raises(NotShown, match=f"run {run.id} of usage: result.token is a secret"):
        client.result(run, timeout=20)


def test_a_job_known_by_name_alone(client: Client) -> None:
    run = client.start(Job("double"), day="2026-03-08")
    assert client.result(run, timeout=20) == "2026-03-08"


def test_many_at_once(client: Client) -> None:
    made = client.start_many(Job("double"), [{"day": "2026-03-08"}, {"day": "2026-03-09"}])
    assert [run.args["day"] for run in made] == ["2026-03-08", "2026-03-09"]


def test_an_idempotency_key_starts_once(site: Site, client: Client) -> None:
    job = Job("double").using(idempotency_key="k1")
    first = client.start(job, day="2026-03-08")
    assert client.start(job, day="2026-03-08").id == first.id
    with pytest.raises(KeyConflict, match="k1"):
        client.start(job, day="2026-03-09")
    with Client(site.address, token=token(site, "start")) as starter:
        told = f"run {first.id} of double was started before under this idempotency key"
        with pytest.raises(Forbidden, match=told):
            starter.start(job, day="2026-03-08")
        assert starter.start(job.using(idempotency_key="k2"), day="2026-03-08").job == "double"


def test_errors_are_those_of_the_client_beside_the_database(client: Client) -> None:
    with pytest.raises(InvalidArguments) as bad:
        client.start(Job("double"), day="soon")
    assert list(bad.value.problems) == ["day"]
    with pytest.raises(NotFound, match="there is no job 'nothing'"):
        client.start(Job("nothing"))
    with pytest.raises(NotFound):
        client.get(4711)
    held = client.start(Job("alone").using(delay="1h"))
    with pytest.raises(Overlapping) as met:
        client.start(Job("alone"))
    assert met.value.held_by == held.id
    with pytest.raises(Refused):
        client.acknowledge(held)


def test_a_failed_step_is_planned_and_mended(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remoteasking, "PAGE", 1)
    run = client.start(Job("flow"))
    with pytest.raises(RunFailed, match="nothing to publish"):
        client.result(run, timeout=20)
    steps = client.steps(run)
    assert [(step.name, step.state) for step in steps] == [
        ("load", State.SUCCEEDED),
        ("publish", State.FAILED),
    ]
    plan = client.plan("retry", run, from_step="load")
    assert ([each.step for each in plan.again], plan.keeps) == (["load", "publish"], ())
    assert [each.cause for each in client.why(run).causes] == ["ended", "step_failed"]
    mended = client.resolve(run, "publish", result=None, reason="done by hand")
    assert client.find("job:flow")[0].id == run.id
    assert client.wait(mended, timeout=20).state is State.SUCCEEDED


def test_a_run_that_waits_is_spoken_to(client: Client) -> None:
    run = client.start(Job("asks"))
    until_sync(lambda: client.questions(run))
    (asked,) = client.questions(run)
    assert asked.text == "Go on?"
    with pytest.raises(InvalidArguments):
        client.answer(run, "Go on?", "perhaps")
    client.answer(run, "", True)
    client.signal(run, "paid", 3)
    assert client.result(run, timeout=20) is True


def test_cancel(client: Client) -> None:
    run = client.start(Job("alone").using(delay="1h"))
    assert client.cancel(run, reason="not needed").state is State.CANCELLED
    with pytest.raises(Refused, match=rf"alone {run.id} has ended already \(cancelled\)"):
        client.cancel(run)


def test_many_runs_are_mended_at_once(client: Client) -> None:
    run = client.start(Job("flow"))
    client.wait(run, timeout=20)
    made = client.retry_where("job:flow state:failed", reason="again")
    assert (made.verb, made.total, made.state) == ("retry", 1, "running")
    assert client.stop_bulk(made).state in ("stopped", "done")
    assert [each.id for each in client.bulks()] == [made.id]


def test_due_times_of_the_past_are_made_up_for(client: Client) -> None:
    days = {
        "since": datetime(2026, 3, 1, tzinfo=UTC),
        "until": datetime(2026, 3, 3, tzinfo=UTC),
    }
    plan = client.backfill_plan("daily", **days)
    assert [f"{due:%d %H:%M}" for due in plan.due] == ["01 02:00", "02 02:00"]
    done = client.backfill("daily", **days, reason="a new table")
    assert [client.get(run).logical_time.day for run in done.runs] == [1, 2]
    assert client.backfill_plan("daily", **days).due == ()
    with pytest.raises(Refused, match="has no schedule"):
        client.backfill("double", **days, reason="none")


def test_without_the_right(site: Site) -> None:
    with Client(site.address, token=token(site, "read")) as client, pytest.raises(Forbidden):
        client.start(Job("double"), day="2026-03-08")
    with Client(site.address, token="koken_forged") as client, pytest.raises(NotSignedIn):
        client.find()


def test_who_may_change_and_not_read_is_told_that_it_was_done(site: Site, client: Client) -> None:
    held = client.start(Job("alone").using(delay="1h"))
    failed = client.wait(client.start(Job("flow")), timeout=20)
    with Client(site.address, token=token(site, "operate")) as operator:
        told = f"it was done, but .* what came of it: id {held.id}, job alone, state cancelled"
        with pytest.raises(Forbidden, match=told):
            operator.cancel(held, reason="not needed")
        with pytest.raises(Forbidden, match=r"it was done, .*: id 1, verb retry, state running"):
            operator.retry_where(f"id:{failed.id}", reason="again")
        days = {
            "since": datetime(2026, 3, 1, tzinfo=UTC),
            "until": datetime(2026, 3, 3, tzinfo=UTC),
        }
        with pytest.raises(Forbidden):
            operator.backfill("daily", **days, reason="a new table")
    assert client.get(held).state is State.CANCELLED


def test_what_needs_the_database_is_refused(client: Client) -> None:
    with pytest.raises(TypeError, match="over HTTP there is no transaction of yours"):
        client.using(object())
    with pytest.raises(DeclarationError, match="the token says who acts"):
        client.using(by="anna")
    with pytest.raises(DeclarationError, match="a token is for the address of a console"):
        Client("postgresql://localhost/x", token="koken_x")


def test_a_console_that_does_not_answer() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Client(address) as client, pytest.raises(ConsoleUnreachable, match=address):
            client.get(1)


def test_something_else_that_answers(site: Site) -> None:
    with Client(f"{site.address}/static") as client, pytest.raises(KokenError, match="console"):
        client.get(1)
