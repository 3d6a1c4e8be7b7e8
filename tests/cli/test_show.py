"""``koken show`` and ``koken why``."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.cli.conftest import Koken, Said, change


def steady(said: Said) -> list[str]:
    """The lines, with times that pass replaced by ``…``."""
    text = re.sub(r"\d\d:\d\d:\d\d", "…", said.out)
    text = re.sub(r"\d+(\.\d)? (ms|s|min|h|d)( ago)?\b|\bjust now\b", "…", text)
    return re.sub(r" {2,}", "  ", text).splitlines()


def test_succeeded(koken: Koken, work: Callable[[], None]) -> None:
    koken("run", "report", "--key", "k", "--priority", "3")
    work()
    assert steady(koken("show", "report")) == [
        "report 1  ✓ succeeded …",
        "started by anna · queue reports · version 1 · priority 3 · key k · created … · took …",
        "",
        "ATTEMPT  OUTCOME  TOOK  WORKER  ERROR",
        "1/2  ↻ retry  …  w-1  ValueError: not yet ⏎ really",
        *[line for line in steady(koken("show", "1")) if line.startswith("2/2  ✓ succeeded")],
        "",
        "args  day=2026-01-01",
        "result  7",
        "progress  █████░░░░░ 50 %  half",
        "log  … WARNING attempt 1",
        "  … WARNING attempt 2",
        "Ways on: koken rerun 1",
    ]
    run = koken("show", "1", "--json").json
    assert (run["id"], run["state"], run["result"]) == ("1", "succeeded", 7)
    assert [each["outcome"] for each in run["attempts"]] == ["retry", "succeeded"]


def test_failed(koken: Koken, work: Callable[[], None]) -> None:
    koken("run", "broken")
    work()
    lines = steady(koken("show", "1"))
    assert "Traceback (most recent call last):" in lines
    assert lines[lines.index("args  none") - 2 :][0] == "OSError: no space left"
    assert lines[0] == "broken 1  ✗ failed …, attempt 1 of 1: OSError: no space left"
    assert lines[-2:] == [
        "args  none",
        "Ways on: koken retry 1 · koken rerun 1 · koken acknowledge 1",
    ]
    assert steady(koken("why", "broken")) == [
        "broken 1  ✗ failed …, attempt 1 of 1: OSError: no space left",
        "Ways on: koken retry 1 · koken rerun 1 · koken acknowledge 1",
    ]


def test_two_lives(koken: Koken, work: Callable[[], None]) -> None:
    koken("run", "broken")
    work()
    koken("retry", "1", "--reason", "fixed")
    assert "— retry by anna: fixed —" in koken("show", "1").lines
    work()
    koken("acknowledge", "1", "--reason", "known")
    lines = steady(koken("show", "1"))
    head = lines.index("ATTEMPT  OUTCOME  TOOK  WORKER  ERROR")
    assert lines[head + 1].startswith("1/1  ✗ failed")
    assert lines[head + 2] == "— retry by anna: fixed —"
    assert lines[head + 3].startswith("1/1  ✗ failed")
    acts = [line for line in lines if line.endswith(("anna: fixed", "anna: known"))]
    assert [line.split("… ")[1] for line in acts] == [
        "retry by anna: fixed",
        "acknowledge by anna: known",
    ]
    events = koken("show", "1", "--json").json["events"]
    assert [(each["verb"], each["by"], each["reason"]) for each in events] == [
        ("retry", "anna", "fixed"),
        ("acknowledge", "anna", "known"),
    ]


def test_many_attempts(koken: Koken, database_url: str) -> None:
    koken("run", "greet")
    change(
        database_url,
        "insert into koken.attempt (run_id, lease, attempt, started_at, ended_at, outcome)"
        " select 1, n, n, now(), now(), 'snooze' from generate_series(1, 200) n",
    )
    lines = koken("show", "1").lines
    place = lines.index("… 187 more")
    assert [line.split("/")[0] for line in lines[place - 3 : place]] == ["1", "2", "3"]
    assert lines[place + 1].startswith("191/")
    assert lines[place + 10].startswith("200/")
    assert len(koken("show", "1", "--json").json["attempts"]) == 200


def test_a_silent_worker(koken: Koken, database_url: str) -> None:
    koken("run", "greet")
    change(
        database_url,
        "insert into koken.worker (name, host, pid, app, version, queues, slots, beat_at)"
        " values ('w-7', '', 1, '', '', '{}', 1, now() - interval '20 s')",
    )
    change(database_url, "update koken.run set state = 'running', worker_id = 1, attempt = 1")
    lines = koken("why", "1").lines
    assert lines[1] == "  its worker has been silent for 20 s; takeover within 53 s"
    change(database_url, "update koken.worker set beat_at = now()")
    assert len(koken("why", "1").lines) == 2


def test_ready(koken: Koken) -> None:
    koken("run", "greet")
    koken("queue", "default", "--limit", "0")
    said = koken("why", "1")
    assert said.lines == [
        "greet 1  ○ ready",
        "  queue default is full: 0 of 0 run",
        "  no live worker serves queue default; start one: koken worker --queue default",
        "  it is next in line in queue default",
        "Ways on: koken watch 1 · koken cancel 1",
    ]
    found = koken("why", "1", "--json").json
    assert (found["run"], found["state"]) == ("1", "ready")
    assert [each["cause"] for each in found["causes"]] == ["queue_full", "no_worker", "in_line"]


def test_running_cancelling_and_waiting_for_a_retry(koken: Koken, database_url: str) -> None:
    koken("run", "greet")
    change(
        database_url,
        "insert into koken.worker (name, host, pid, app, version, queues, slots)"
        " values ('w-7', '', 1, '', '', '{}', 1)",
    )
    change(
        database_url,
        "update koken.run set state = 'running', worker_id = 1, attempt = 1, lease = 1,"
        " started_at = now() - interval '5 min', max_attempts = 3,"
        """ error = '{"type": "OSError", "message": "disk"}'""",
    )
    assert steady(koken("show", "1"))[0] == "greet 1  ● running on w-7 for …, attempt 1 of 3"
    assert koken("cancel", "1").lines == [
        "greet 1  ⊘ asked to stop on w-7; follow it: koken watch 1"
    ]
    assert steady(koken("show", "1"))[0] == "greet 1  ⊘ cancelling on w-7 for …, attempt 1 of 3"
    change(
        database_url,
        "update koken.run set state = 'waiting', wait_cause = 'retry', cancel_requested_at = null,"
        " wake_at = now() + interval '90 s',"
        """ error = '{"type": "OSError", "message": "disk"}'""",
    )
    assert steady(koken("why", "1"))[0] == (
        "greet 1  ↻ waits for its next attempt, due in …; attempt 1 of 3 failed: OSError: disk"
    )


def test_unknown(koken: Koken) -> None:
    for words, message in (
        (["show", "5"], "there is no run 5 in workspace 'default'"),
        (["show", "9" * 30], f"there is no run {'9' * 30}"),
        (["why", "greet"], "there is no run of a job 'greet'; `koken jobs` lists the jobs"),
    ):
        said = koken(*words)
        assert (said.code, said.err) == (3, f"koken: {message}\n")


def test_what_bodies_say_does_not_steer_the_terminal(koken: Koken, database_url: str) -> None:
    koken("run", "greet", "--args", '{"name": "\\u001b[2Jgone"}')
    change(
        database_url,
        "insert into koken.log_line (run_id, lease, at, level, stream, text)"
        " values (1, 1, now(), 'info', 'stdout', E'\\x1b]0;title\\x07red')",
    )
    said = koken("show", "1")
    assert "\x1b" not in said.out
    assert "args      name=gone" in said.lines
    assert said.lines[-2].endswith(" red")
