from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta

import psycopg
import pytest

from koken.errors import Overlapping, Refused
from koken.testing import TestClient, call
from tests.programs import dne
from tests.programs.dne import (
    OverlappingDates,
    app,
    cancel,
    end_all,
    expire,
    move_end,
    schedule,
    set_up,
    sync_end,
)
from tests.programs.google import Google, google

NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def fresh_google() -> None:
    fresh = Google()
    for each in fields(Google):
        setattr(google, each.name, getattr(fresh, each.name))


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(app, by="growth@example.org") as client:
        client.now = NOON
        dne.database["url"] = client.database_url
        with psycopg.connect(client.database_url) as connection:
            connection.execute(dne.TABLES)
        yield client


def asked(text: str, *args: object) -> list[tuple[object, ...]]:
    with psycopg.connect(dne.database["url"]) as connection:
        return connection.execute(text, args).fetchall()  # type: ignore[arg-type]


def new_experiment(groups: int = 2) -> int:
    ((number,),) = asked("insert into experiment (groups) values (%s) returning id", groups)
    assert isinstance(number, int)
    return number


def status(experiment: int) -> object:
    return asked("select status from experiment where id = %s", experiment)[0][0]


def scopes() -> list[tuple[object, ...]]:
    return asked("select experiment_id, campaign from scope order by 1, 2")


def test_set_up(client: TestClient) -> None:
    experiment = new_experiment(groups=3)
    run = client.move(schedule, experiment)
    assert run is not None
    assert (status(experiment), run.job) == ("TO_BE_SCHEDULED", "GOOGLE_SETUP_EXPERIMENT")
    assert (run.subject, run.trigger.by) == ("experiment:1", "growth@example.org")
    run = client.fast_forward(run)
    assert (run.state, run.result, status(experiment)) == (
        "succeeded", [1000, 1001, 1002], "SCHEDULED",
    )  # fmt: skip
    assert scopes() == [(1, 1000), (1, 1001), (1, 1002)]
    assert google.live == ["1-0", "1-1", "1-2"]
    assert len(set(google.keys)) == 3
    assert client.now == NOON


def test_twelve_hours(client: TestClient) -> None:
    experiment = new_experiment(groups=1)
    google.busy = 143
    run = client.move(schedule, experiment)
    assert run is not None
    assert client.fast_forward(run).state == "succeeded"
    assert (status(experiment), client.attempts(run)) == ("SCHEDULED", 1)
    assert google.calls.count("poll") == 144
    assert (google.calls.count("submit"), google.calls.count("cancel")) == (12, 11)
    assert client.now == NOON + timedelta(hours=11, minutes=55)


def test_polls_cost_no_attempt(client: TestClient) -> None:
    experiment = new_experiment(groups=2)
    google.busy = 20
    run = client.move(schedule, experiment)
    assert run is not None
    client.drain()
    assert client.get(run).state == "waiting"
    run = client.fast_forward(run)
    assert (run.state, client.attempts(run)) == ("succeeded", 1)
    assert google.calls.count("submit") == 2
    assert google.calls.count("poll") == 22
    assert client.now == NOON + timedelta(minutes=50)


def test_phase_4_fails_for_good(client: TestClient) -> None:
    experiment = new_experiment(groups=3)
    client.failing("read B side", ConnectionError("reset"), times=144)
    run = client.move(schedule, experiment)
    assert run is not None
    run = client.fast_forward(run)
    assert (run.state, run.reason) == ("failed", "ConnectionError: reset")
    assert client.attempts(run) == 144
    assert client.now == NOON + 143 * timedelta(minutes=5)
    assert google.calls.count("create") == 3
    assert google.calls.count("submit") == 3
    assert google.drafts == []
    assert (status(experiment), scopes()) == ("DRAFT", [])
    assert client.states(run) == {
        "read": "succeeded",
        "create": "succeeded",
        "arms": "succeeded",
        "schedule": "succeeded",
        "undo create[2]": "succeeded",
        "undo create[1]": "succeeded",
        "undo create[0]": "succeeded",
    }


def test_phase_4_fails_for_a_while(client: TestClient) -> None:
    experiment = new_experiment(groups=3)
    client.failing("read B side", ConnectionError("reset"), times=143)
    run = client.move(schedule, experiment)
    assert run is not None
    run = client.fast_forward(run)
    assert (run.state, run.result, client.attempts(run)) == ("succeeded", [1000, 1001, 1002], 144)
    assert (google.calls.count("create"), google.calls.count("end")) == (3, 0)


def test_dates_that_overlap_are_not_retried(client: TestClient) -> None:
    experiment = new_experiment(groups=2)
    client.failing("create[1]", OverlappingDates("experiment 7"))
    run = client.move(schedule, experiment)
    assert run is not None
    assert client.fast_forward(run).state == "failed"
    assert (client.attempts(run), google.drafts, status(experiment)) == (1, [], "DRAFT")


def test_one_of_twenty_may_miss(client: TestClient) -> None:
    experiment = new_experiment(groups=20)
    google.errors["1-7"] = "policy violation"
    run = client.move(schedule, experiment)
    assert run is not None
    run = client.fast_forward(run)
    assert run.state == "succeeded"
    assert run.result == [1000 + n for n in range(20) if n != 7]


def test_two_of_twenty_may_not(client: TestClient) -> None:
    experiment = new_experiment(groups=20)
    google.errors.update({"1-7": "policy violation", "1-8": "policy violation"})
    client.failing("arms", OSError("reset"))
    run = client.move(schedule, experiment)
    assert run is not None
    assert client.fast_forward(run).state == "failed"
    assert (google.drafts, status(experiment)) == ([], "DRAFT")


def test_a_lost_answer_is_found_again(client: TestClient) -> None:
    experiment = new_experiment(groups=1)
    google.lost_answers = 1
    run = client.move(schedule, experiment)
    assert run is not None
    assert client.fast_forward(run).state == "succeeded"
    assert google.calls.count("submit") == 1
    assert len(google.operations) == 1


def test_stuck_in_flight_is_submitted_again(client: TestClient) -> None:
    experiment = new_experiment(groups=1)
    google.busy = 13
    run = client.move(schedule, experiment)
    assert run is not None
    client.advance("59m")
    assert (google.calls.count("submit"), google.calls.count("poll")) == (1, 12)
    assert client.fast_forward(run).state == "succeeded"
    assert (google.calls.count("submit"), google.calls.count("cancel")) == (2, 1)
    assert client.now == NOON + timedelta(hours=1, minutes=5)
    assert len(set(google.keys)) == 2
    assert client.attempts(run) == 1


def test_worker_killed_between_create_and_record(client: TestClient) -> None:
    experiment = new_experiment(groups=2)
    client.replacing("read B side", lambda live: client.kill_worker(), times=1)
    run = client.move(schedule, experiment)
    assert run is not None
    run = client.fast_forward(run)
    assert (run.state, run.attempt, run.infra_attempt) == ("succeeded", 1, 1)
    assert (google.calls.count("create"), google.calls.count("submit")) == (2, 2)


def test_cancel_during_set_up(client: TestClient) -> None:
    experiment = new_experiment()
    google.busy = 10
    setting_up = client.move(schedule, experiment)
    client.drain()
    assert google.calls.count("submit") == 2
    cancelling = client.move(cancel, experiment, reason="wrong market")
    assert setting_up is not None
    assert cancelling is not None
    assert client.fast_forward(cancelling).state == "succeeded"
    assert client.get(setting_up).state == "cancelled"
    assert google.calls.count("cancel") == 2
    assert (google.drafts, status(experiment)) == ([], "CANCELLED")
    with pytest.raises(Refused, match="'schedule' goes from DRAFT, experiment 1 is CANCELLED"):
        client.move(schedule, experiment)


def test_the_cancel_waits_until_the_set_up_is_undone(client: TestClient) -> None:
    experiment = new_experiment()
    setting_up = client.move(schedule, experiment)
    cancelling = client.move(cancel, experiment, reason="wrong market")
    assert setting_up is not None
    assert cancelling is not None
    client.drain()
    assert client.get(setting_up).state == "cancelled"
    assert (client.get(cancelling).state, google.calls) == ("succeeded", [])


def test_cancel_of_what_is_scheduled(client: TestClient) -> None:
    experiment = new_experiment()
    scheduled = client.move(schedule, experiment)
    client.drain()
    run = client.move(cancel, experiment)
    assert scheduled is not None
    assert run is not None
    assert client.fast_forward(run).state == "succeeded"
    assert client.get(scheduled).state == "succeeded"
    assert (google.drafts, google.live, status(experiment)) == ([], [], "CANCELLED")


def test_what_is_over_is_refused(client: TestClient) -> None:
    experiment = new_experiment()
    client.move(schedule, experiment)
    client.drain()
    asked("update experiment set ab_end = '2020-02-02' returning id")
    with pytest.raises(Refused, match="experiment 1 ended on 2020-02-02"):
        client.move(expire, experiment)
    assert client.started(end_all) == []


def test_the_end_is_moved(client: TestClient) -> None:
    experiment = new_experiment()
    client.move(schedule, experiment)
    client.drain()
    run = client.move(move_end, experiment, end=date(2027, 1, 1))
    assert run is not None
    with pytest.raises(Overlapping):
        client.move(move_end, experiment, end=date(2028, 1, 1))
    assert client.fast_forward(run).state == "succeeded"
    assert google.calls[-1] == "end of 1 is 2027-01-01"
    assert client.started(sync_end, end=date(2027, 1, 1)) == [client.get(run)]


def test_body_alone(client: TestClient) -> None:
    experiment = new_experiment()
    google.busy = 3
    assert call(set_up, experiment) == [1000, 1001]
    assert (sorted(google.live), scopes()) == (["1-0", "1-1"], [(1, 1000), (1, 1001)])
    call(end_all, experiment)
    assert (google.drafts, client.find()) == ([], [])
