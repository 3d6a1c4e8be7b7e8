"""``koken cancel retry acknowledge pause resume queue``: what they say, and who is on record."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.cli.conftest import Koken, change


def events(url: str) -> list[tuple[str, str, str | None]]:
    """Who did what, and why."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "select verb, by, reason from koken.event where verb <> 'publish' order by id"
        )
        return [(verb, by, reason) for verb, by, reason in rows]


def test_cancel(koken: Koken, database_url: str) -> None:
    koken("run", "greet")
    said = koken("cancel", "greet", "--reason", "wrong market")
    assert said.lines == ["greet 1  ⊘ cancelled by anna: wrong market"]
    assert events(database_url) == [("cancel", "anna", "wrong market")]
    again = koken("cancel", "1")
    assert (again.code, again.out, again.err) == (
        4,
        "",
        "koken: greet 1 has ended already (cancelled)\n",
    )
    assert koken("cancel", "7").code == 3


def test_cancel_tells_who_is_asked_to_end(koken: Koken, database_url: str) -> None:
    for _ in range(2):
        koken("run", "greet")
    change(database_url, "update koken.run set state = 'running'")
    change(
        database_url,
        "update koken.run set state = 'waiting', wait_cause = 'children', made = 2,"
        " open_children = 2 where id = 1",
    )
    change(database_url, "update koken.run set state = 'ready', unwind = true where id = 2")
    said = [koken("cancel", each).lines[0].partition("  ")[2] for each in ("1", "2")]
    assert said == [
        "⊘ asked to end; 2 of its runs go; follow it: koken watch 1",
        "⊘ asked to end; a worker cleans up after it; follow it: koken watch 2",
    ]


def test_retry(koken: Koken, work: Callable[[], None], database_url: str) -> None:
    koken("run", "broken")
    work()
    said = koken("retry", "broken", "--reason", "scratch cleaned")
    assert said.lines == ["broken 1 is ready again (was failed); follow it: koken watch 1"]
    assert events(database_url) == [("retry", "anna", "scratch cleaned")]
    refused = koken("retry", "1")
    assert (refused.code, refused.err) == (
        4,
        (
            "koken: run 1 is ready; only a run that failed, was cancelled or was skipped "
            "can be retried\n"
        ),
    )


def test_retry_with_other_arguments(koken: Koken) -> None:
    koken("run", "greet")
    koken("cancel", "1")
    assert koken("retry", "1", "--args", '{"nam": 1}').code == 2
    assert koken("retry", "1", "--args", "nonsense").code == 2
    assert koken("retry", "1", "--args", '{"name": "eve"}', "--json").json["args"] == {
        "name": "eve"
    }


def test_acknowledge(koken: Koken, work: Callable[[], None], database_url: str) -> None:
    koken("run", "broken")
    work()
    said = koken("acknowledge", "1", "--reason", "known")
    assert said.code == 0
    assert said.out.endswith("OSError: no space left (acknowledged by anna)\n")
    assert events(database_url) == [("acknowledge", "anna", "known")]
    assert koken("acknowledge", "1").code == 4
    assert "acknowledge" not in koken("show", "1").lines[-1]


def test_queue(koken: Koken, database_url: str) -> None:
    assert koken("queue", "google").code == 3
    refused = koken("queue", "google", "--limit", "3")
    assert (refused.code, refused.err) == (
        3,
        (
            "koken: there is no queue 'google'; "
            "--create makes it, `koken queues` lists those there are\n"
        ),
    )
    said = koken(
        "queue", "google", "--create", "--limit", "4", "--rate", "10/s", "--reason", "quota"
    )
    assert said.lines == ["google: at most 4 at once, 10/s at most; 0 running, 0 ready, 0 slots."]
    assert events(database_url) == [("queue", "anna", "quota")]
    change(database_url, "update koken.queue set burst = 5")
    row = koken("queue", "google", "--rate", "30/m", "--json").json
    assert (row["limit"], row["rate"], row["burst"]) == (4, 0.5, 5)
    said = koken("queue", "google", "--limit", "none", "--rate", "none")
    assert said.lines == ["google: no limit, no rate; 0 running, 0 ready, 0 slots."]
    assert koken("queue", "google").lines == said.lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--limit", "x"], "--limit is 'x'; write a number such as 4, or none"),
        (["--limit", "-1"], "--limit is '-1'; write a number such as 4, or none"),
        (["--limit", "9" * 5000], f"--limit is '{'9' * 5000}'; write a number such as 4, or none"),
        (["--rate", "inf"], "--rate is 'inf'; it is more than 0 and at most 1000000/s, or none"),
        (["--rate", "5/x"], "--rate is '5/x'; write it as 10/s, 600/m or 1000/h, or none"),
        (["--rate", "0"], "--rate is '0'; it is more than 0 and at most 1000000/s, or none"),
    ],
)
def test_queue_refuses(koken: Koken, words: list[str], message: str) -> None:
    said = koken("queue", "google", *words)
    assert (said.code, said.err) == (2, f"koken: {message}\n")


def test_pause_a_queue(koken: Koken, database_url: str) -> None:
    koken("run", "greet")
    said = koken("pause", "default", "--reason", "db move")
    assert said.lines == ["Queue default is paused: what runs goes on, nothing new starts."]
    assert koken("pause", "default").lines == ["Queue default is paused by anna already."]
    assert koken("queue", "default").lines[0].endswith("paused by anna.")
    assert koken("why", "1").lines[1].startswith("  queue default is paused by anna: db move, for ")
    assert koken("resume", "default").lines == ["Queue default goes on; 1 ready."]
    assert events(database_url)[0] == ("pause", "anna", "db move")
    assert koken("resume", "default", "--json").json == {"queue": "default", "paused": False}


def test_pause_a_job(koken: Koken, work: Callable[[], None], database_url: str) -> None:
    work()
    said = koken("pause", "report", "--reason", "holiday")
    assert said.lines == [
        "Job report is paused: 1 schedule will not fire; it can still be started by hand."
    ]
    assert koken("pause", "report").lines == ["Job report is paused already."]
    assert koken("schedules", "--json").json["items"][0]["pause_reason"] == "holiday"
    assert koken("resume", "report").lines == ["Job report goes on: 1 schedule will fire again."]
    assert koken("resume", "report").lines == ["Job report is not paused."]
    assert events(database_url) == [("pause", "anna", "holiday"), ("resume", "anna", None)]
    refused = koken("pause", "greet")
    assert (refused.code, refused.err) == (
        4,
        "koken: job 'greet' has no schedule that could be paused\n",
    )


def test_one_name_for_both(koken: Koken, work: Callable[[], None]) -> None:
    work()
    koken("queue", "report", "--create", "--limit", "1")
    said = koken("pause", "report")
    assert (said.code, said.err) == (
        2,
        "koken: report is a job and a queue; say --job or --queue\n",
    )
    assert koken("pause", "report", "--queue", "--json").json == {"queue": "report", "paused": True}
    assert koken("pause", "report", "--job", "--json").json == {"job": "report", "paused": True}
    assert koken("pause", "report", "--job", "--queue").code == 2
    assert koken("pause", "nothing").code == 3
