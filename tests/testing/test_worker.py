from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime

import pytest

import koken
from koken import App, AsyncContext, Context
from koken.errors import KeyConflict, Overlapping
from tests.testing.conftest import Hire


def test_killed_worker_is_rescued_and_steps_are_kept(
    client_of: Hire, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App("night")
    done: list[str] = []
    survives: list[bool] = []

    def load() -> list[int]:
        done.append("load")
        return [1, 2, 3]

    def crunch(rows: list[int]) -> int:
        if not survives:
            survives.append(True)
            client.kill_worker()
        done.append("crunch")
        return sum(rows)

    @app.job
    def nightly(ctx: Context) -> int:
        print("begun")
        return ctx.step("crunch", crunch, ctx.step("load", load))

    client = client_of(app)
    run = client.run(nightly)
    assert (run.state, done) == ("running", ["load"])
    assert client.advance("1m") == []
    (run,) = client.advance("15s")
    assert (run.state, run.result, done) == ("succeeded", 6, ["load", "crunch"])
    assert (run.attempt, run.infra_attempt) == (1, 1)
    assert [line.lease for line in client.logs(run)] == [1, 2]


def test_killed_again_and_again_fails_in_the_end(client_of: Hire) -> None:
    app = App("poison")

    @app.job(max_infra_attempts=2)
    async def poison(ctx: AsyncContext) -> None:
        try:
            client.kill_worker()
        finally:
            with pytest.raises(BaseException, match="lost"):
                ctx.heartbeat()

    client = client_of(app)
    run = client.fast_forward(client.start(poison))
    assert (run.state, run.attempt, run.infra_attempt) == ("failed", 0, 3)
    assert "was lost" in run.reason


def test_killing_an_idle_worker_harms_nobody(client_of: Hire) -> None:
    app = App("idle")
    job = app.job(lambda: 1, name="one")
    client = client_of(app)
    client.kill_worker()
    assert client.run(job).state == "succeeded"
    client.kill_worker()
    assert client.run(job).state == "succeeded"
    assert client.advance("1h") == []


def test_overlap_that_skips_is_seen(client_of: Hire) -> None:
    app = App("overlap")

    @app.job(schedule="*/10 * * * *", overlap="skip_if_running", max_attempts=2, backoff="15m")
    def slow(ctx: Context) -> None:
        if ctx.attempt == 1:
            raise ConnectionError("reset")

    client = client_of(app)
    client.now = datetime(2026, 3, 10, 12, 5, tzinfo=UTC)
    (first,) = client.advance("15m")
    started = client.start(slow)
    assert (first.state, started.state) == ("waiting", "skipped")
    assert [(tick.verdict, tick.blocker_id) for tick in client.ticks(slow)] == [
        ("started", None),
        ("skipped", first.id),
    ]
    assert started.error is not None
    assert started.error.blocker == first.id
    assert client.fast_forward(first).state == "succeeded"


def test_overlap_and_keys_are_refused(client_of: Hire) -> None:
    app = App("refused")

    @app.job(overlap="refuse")
    def alone() -> None:
        with pytest.raises(Overlapping):
            client.start(alone)

    @app.job
    def send(order: int) -> None: ...

    client = client_of(app)
    assert client.run(alone).state == "succeeded"
    keyed = send.using(idempotency_key="receipt-7")
    assert client.start(keyed, 7).id == client.start(keyed, 7).id
    with pytest.raises(KeyConflict):
        client.start(keyed, 8)


def test_bodies_go_one_by_one_in_their_order(client_of: Hire) -> None:
    app = App("order")
    seen: list[int] = []

    @app.job
    async def a(n: int) -> None:
        seen.append(n)

    @app.job(queue="other")
    def b(n: int) -> None:
        seen.append(n)
        if n == 1:
            client.start(a, 10)

    client = client_of(app)
    client.start(a, 0)
    client.start(b, 1)
    client.using(workspace="acme").start(a, 2)
    client.start(a.using(priority=-1), 3)
    assert [run.args["n"] for run in client.drain()] == seen == [3, 0, 1, 2, 10]


def test_started_looks_by_arguments(client_of: Hire) -> None:
    app = App("started")

    @app.job
    def report(day: date, kind: str = "short") -> None: ...

    client = client_of(app)
    days = [date(2026, 3, 6), date(2026, 3, 7)]
    runs = [client.start(report, day) for day in days]
    assert client.started(report) == runs
    assert client.started(report, day=days[1]) == [runs[1]]
    assert client.started(report, day="2026-03-06", kind="short") == [runs[0]]
    assert client.started(report, kind="long") == []
    with pytest.raises(TypeError, match=r"no argument 'kin'\. Did you mean kind"):
        client.started(report, kin="long")


def test_body_learns_at_once_that_it_is_cancelled(client_of: Hire) -> None:
    app = App("cancel")

    @app.job
    def long(ctx: Context) -> None:
        client.cancel(ctx.run_id, reason="wrong market")
        ctx.heartbeat()
        raise AssertionError("not left")

    client = client_of(app)
    assert client.run(long).state == "cancelled"


def test_lifespan_is_entered_once(client_of: Hire) -> None:
    seen: list[str] = []

    @contextmanager
    def around() -> Iterator[None]:
        seen.append("in")
        yield
        seen.append("out")

    app = App("lifespan", lifespan=around)
    job = app.job(lambda: seen.append("body"), name="look")
    client = client_of(app)
    client.start(job)
    assert seen == []
    client.drain()
    client.run(job)
    client.close()
    assert seen == ["in", "body", "body", "out"]


def test_jobs_may_be_declared_later(client_of: Hire) -> None:
    app = App("later")
    client = client_of(app)
    client.drain()

    @app.job(schedule="1h")
    def hourly() -> None: ...

    client.drain()
    assert [run.job for run in client.advance("2h")] == ["hourly", "hourly"]


def test_body_that_takes_long_by_the_clock(client_of: Hire) -> None:
    app = App("long")

    @app.job
    def hours() -> str:
        client.now = datetime(2026, 3, 10, 15, 0, tzinfo=UTC)
        return "done"

    client = client_of(app)
    client.now = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
    run = client.run(hours)
    assert (run.state, run.infra_attempt) == ("succeeded", 0)
    assert run.started_at is not None
    assert run.ended_at is not None
    assert (run.ended_at - run.started_at).seconds == 3 * 3600


lonely = App("lonely")


@lonely.job(executor="process")
def apart(n: int) -> int:
    print("in a process of its own")
    return n + 1


def test_process_jobs_run_in_processes(client_of: Hire) -> None:
    client = client_of(lonely)
    run = client.run(apart, 1)
    assert (run.state, run.result) == ("succeeded", 2)
    assert [line.text for line in client.logs(run)] == ["in a process of its own"]
    client.failing(apart, OSError("here"))
    assert client.run(apart, 1).reason == "OSError: here"


def test_using_shares_all(client_of: Hire) -> None:
    app = App("shared")
    job = app.job(lambda: 1, name="one")
    client = client_of(app)
    run = client.using(by="anna").run(job)
    assert run.trigger.by == "anna"
    with koken.Client(client.database_url) as other:
        assert other.get(run.id).state == "succeeded"


async def test_async_tests_use_threads(client_of: Hire) -> None:
    app = App("async")
    job = app.job(lambda: 1, name="one")
    with pytest.raises(TypeError, match="Call it in a thread"):
        client_of(app)
    client = await asyncio.to_thread(client_of, app)
    with pytest.raises(TypeError, match=r"TestClient\.start would block this event loop"):
        client.run(job)
    assert (await asyncio.to_thread(client.run, job)).state == "succeeded"
    await asyncio.to_thread(client.close)
