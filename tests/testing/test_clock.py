from __future__ import annotations

import itertools
import threading
from datetime import UTC, datetime, timedelta

import pytest

import koken
from koken import App, Context, Retry, Snooze
from koken.errors import RunFailed
from tests.testing.conftest import Hire

NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def daily(expression: str, **options: object) -> App:
    app = App("clocks")

    def delay_report(ctx: Context) -> str:
        return ctx.logical_time.isoformat()

    schedule = koken.Schedule(expression, **options)  # type: ignore[arg-type]
    app.job(delay_report, schedule=schedule, overlap="allow")
    return app


def test_time_stands_still_until_it_is_moved(client_of: Hire) -> None:
    app = App("still")

    @app.job
    def look() -> str:
        print("looked")
        return client.now.isoformat()

    client = client_of(app)
    began = client.now
    assert abs(began - datetime.now(UTC)) < timedelta(minutes=1)
    run = client.run(look)
    assert client.now == began
    assert run.created_at == run.started_at == run.ended_at == began
    assert at(run.result) == began
    assert [(line.at, line.text) for line in client.logs(run)] == [(began, "looked")]
    assert client.advance("1h") == []
    assert client.now == began + timedelta(hours=1)


def test_naive_times_are_refused(client_of: Hire) -> None:
    client = client_of(App("naive"))
    with pytest.raises(ValueError, match="no time zone"):
        client.now = datetime(2026, 3, 8)


def test_schedule_fires_in_new_york(client_of: Hire) -> None:
    client = client_of(daily("30 6 * * *", timezone="America/New_York"))
    client.now = at("2026-03-08T06:29:00-04:00")
    (run,) = client.advance("1m")
    assert (run.job, run.state, run.trigger.kind) == ("delay_report", "succeeded", "schedule")
    assert run.started_at == run.trigger.due_at == at("2026-03-08T06:30:00-04:00")


def test_schedule_keeps_to_the_wall_clock_over_the_gap(client_of: Hire) -> None:
    client = client_of(daily("30 6 * * *", timezone="America/New_York"))
    client.now = at("2026-03-07T00:00:00-05:00")
    fired = [run.started_at for run in client.advance("2d")]
    assert fired == [at("2026-03-07T06:30:00-05:00"), at("2026-03-08T06:30:00-04:00")]


def test_a_time_that_does_not_exist_is_fired_when_the_gap_ends(client_of: Hire) -> None:
    client = client_of(daily("30 2 * * *", timezone="America/New_York"))
    client.now = at("2026-03-08T00:00:00-05:00")
    (run,) = client.advance("12h")
    assert run.started_at == at("2026-03-08T03:00:00-04:00")


def test_144_attempts_take_twelve_hours_of_the_clock_only(client_of: Hire) -> None:
    app = App("patient")

    @app.job(max_attempts=144, backoff="5m")
    def poll(ctx: Context) -> int:
        if ctx.attempt < 144:
            raise ConnectionError("reset")
        return ctx.attempt

    client = client_of(app)
    client.now = NOON
    run = client.fast_forward(client.start(poll))
    assert (run.state, run.result, client.attempts(run)) == ("succeeded", 144, 144)
    assert client.now == NOON + 143 * timedelta(minutes=5)


def test_snooze_spends_no_attempt(client_of: Hire) -> None:
    app = App("sleepy")
    seen: list[datetime] = []

    @app.job
    def wait_for_file() -> str:
        seen.append(client.now)
        if len(seen) < 4:
            raise Snooze("15m", "not there yet")
        return "there"

    client = client_of(app)
    run = client.run(wait_for_file)
    assert (run.state, run.reason, client.attempts(run)) == ("waiting", "Snooze: not there yet", 0)
    assert client.result(run) == "there"
    assert client.attempts(run) == 1
    assert [b - a for a, b in itertools.pairwise(seen)] == [timedelta(minutes=15)] * 3


def test_backoff_is_not_spread(client_of: Hire) -> None:
    app = App("even")
    seen: list[datetime] = []

    @app.job(max_attempts=4, backoff=koken.Backoff(base="10s", cap="15s", jitter=1.0))
    def flaky() -> None:
        seen.append(client.now)
        raise ConnectionError("reset")

    client = client_of(app)
    assert client.fast_forward(client.start(flaky)).state == "failed"
    assert [(b - a).seconds for a, b in itertools.pairwise(seen)] == [10, 15, 15]


def test_advance_does_each_thing_at_its_own_moment(client_of: Hire) -> None:
    app = App("order")
    seen: list[tuple[str, int]] = []

    def note(name: str) -> None:
        seen.append((name, (client.now - NOON).seconds // 60))

    @app.job(schedule="*/10 * * * *")
    def often() -> None:
        note("often")

    @app.job(max_attempts=2, backoff="25m")
    def twice(ctx: Context) -> None:
        note("twice")
        if ctx.attempt == 1:
            raise Retry("not yet")

    client = client_of(app)
    client.now = NOON
    run = client.start(twice)
    later = client.start(twice.using(delay="12m"))
    happened = client.advance("30m")
    assert seen == [
        ("twice", 0),
        ("often", 10),
        ("twice", 12),
        ("often", 20),
        ("twice", 25),
        ("often", 30),
    ]
    assert [found.job for found in happened] == ["twice", "often", "twice", "often", "often"]
    assert [client.get(each).state for each in (run, later)] == ["succeeded", "waiting"]


def test_a_moment_later_than_asked_for_stays_to_come(client_of: Hire) -> None:
    client = client_of(daily("0 13 * * *"))
    client.now = NOON
    assert client.advance(timedelta(minutes=59, seconds=59)) == []
    assert len(client.advance(1)) == 1


@pytest.mark.parametrize(
    ("catchup", "made_up_for"), [("latest", [4]), ("none", []), ("all", [2, 3, 4])]
)
def test_set_forward_is_an_outage(client_of: Hire, catchup: str, made_up_for: list[int]) -> None:
    client = client_of(daily("0 6 * * *", catchup=catchup))
    client.now = at("2026-03-01T12:00:00+00:00")
    client.drain()
    client.now = at("2026-03-04T12:00:00+00:00")
    assert [run.logical_time.day for run in client.drain()] == made_up_for


def test_set_back_lets_schedules_count_from_there(client_of: Hire) -> None:
    client = client_of(daily("0 6 * * *"))
    client.now = at("2026-03-04T05:00:00+00:00")
    assert len(client.advance("2h")) == 1
    client.now = at("2026-03-04T05:30:00+00:00")
    assert client.drain() == []
    assert [run.started_at for run in client.advance("1h")] == [at("2026-03-04T06:00:00+00:00")]


def test_a_job_that_is_never_started_in_time_fails(client_of: Hire) -> None:
    app = App("late")

    @app.job(lock="one", start_timeout="10m", max_attempts=2, backoff="1h")
    def exclusive(ctx: Context) -> None:
        if ctx.attempt == 1:
            raise ConnectionError("reset")

    client = client_of(app)
    first, second = client.start(exclusive), client.start(exclusive)
    client.drain()
    assert [client.get(run).state for run in (first, second)] == ["waiting", "blocked"]
    (late,) = client.advance("30m")
    assert (late.id, late.state) == (second.id, "failed")
    assert "start_timeout" in late.reason
    assert client.fast_forward(first).state == "succeeded"


def test_waiting_ends_with_a_reason(client_of: Hire) -> None:
    app = App("stuck")

    @app.job(max_attempts=5, backoff="10m")
    def hopeless() -> None:
        raise ConnectionError("reset")

    client = client_of(app)
    run = client.start(hopeless)
    with pytest.raises(TimeoutError, match=r"not ended within 25 min: attempt 3 of 5 failed"):
        client.wait(run, timeout="25m")
    with pytest.raises(RunFailed, match="reset"):
        client.result(run)
    assert client.wait(run).state == "failed"


def test_what_cannot_end_by_itself_is_told(client_of: Hire) -> None:
    app = App("outcast", queues={"slow": {"limit": 1}})

    @app.job(queue="slow")
    def work() -> None:
        with pytest.raises(RuntimeError, match="a body is under way"):
            client.drain()
        found.append(client.start(work))

    client = client_of(app)
    found = [client.start(work)]
    client.replacing(work, lambda: client.kill_worker(), times=1)
    client.drain()
    other = client.start(work)
    with pytest.raises(TimeoutError, match=r"not ended within 30 s: queue slow is full"):
        client.wait(other, timeout="30s")


def test_coming_back_at_once_for_ever_is_refused(
    client_of: Hire, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = App("loop")
    app.job(lambda: Snooze(0), name="again")
    client = client_of(app)
    monkeypatch.setattr("koken.testing.worker.MOST_RETURNS", 5)
    with pytest.raises(RuntimeError, match="came back 5 times at one moment"):
        client.run(app.registry.get("again"))


def test_queue_with_a_rate_starts_runs_as_time_passes(client_of: Hire) -> None:
    app = App("paced", queues={"google": {"rate": "10/m"}})
    seen: list[datetime] = []

    @app.job(queue="google")
    def ask() -> None:
        seen.append(client.now)

    client = client_of(app)
    client.now = NOON
    client.start_many(ask, [{}] * 4)
    client.advance("1m")
    assert [(moment - NOON).seconds for moment in seen] == [0, 6, 12, 18]


def test_no_thread_is_left(client_of: Hire) -> None:
    before = threading.active_count()
    client = client_of(App("tidy"))
    assert client.drain() == []
    client.close()
    client.close()
    assert threading.active_count() == before
