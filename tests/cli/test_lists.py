"""The lists: a sentence, a table that is readable at 80 columns, and their JSON shapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from koken.cli import calendar, floor
from koken.views import words
from koken.views.catalog import ScheduleRow
from koken.views.floor import QueueRow, WorkerRow
from koken.views.ticks import TickRow
from tests.cli.conftest import Koken, Said, change

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)


def narrow(said: Said) -> list[str]:
    """The lines, in 80 columns, with times that pass replaced by ``…``."""
    assert all(len(line) <= 80 for line in said.lines)
    text = re.sub(r"\d+(\.\d)? (ms|s|min|h|d)\b", "…", said.out)
    return re.sub(r" {2,}", "  ", text.replace("just now ", "… ago ")).splitlines()


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("jobs", "No jobs yet. `koken worker` or `koken dev` makes those of an app known."),
        ("runs", "No runs yet. `koken run JOB` starts one."),
        ("schedules", "No schedules. Declare one: @app.job(schedule='every day at 2am')."),
        ("queues", "No queues yet; the first job or worker that names one makes it."),
        ("workers", "No worker is alive. Start one: koken worker."),
    ],
)
def test_nothing_yet(koken: Koken, command: str, text: str) -> None:
    assert koken(command).out == f"{text}\n"
    assert koken(command, "--json").out == '{"items":[],"next":null}\n'


def test_runs(koken: Koken, work: Callable[[], None]) -> None:
    koken("run", "greet", "name=bob")
    koken("run", "report")
    koken("run", "broken")
    work()
    koken("run", "greet", "--delay", "1h")
    assert narrow(koken("runs")) == [
        "4 runs, newest first: 2 succeeded, 1 waiting, 1 failed.",
        "STATE  RUN  JOB  ABOUT  BY  STARTED  TOOK  TRIES",
        "◔ waiting  4  greet  name=world  anna  –  –  0/1",
        "✗ failed  3  broken  –  anna  … ago  …  1/1",
        "✓ succeeded  2  report  day=2026-01-01  anna  … ago  …  2/2",
        "✓ succeeded  1  greet  name=bob  anna  … ago  …  1/1",
    ]
    assert [run["id"] for run in koken("runs", "--json").json["items"]] == ["4", "3", "2", "1"]
    found = koken("runs", "state:ended", "job:greet", "--limit", "1", "--json").json["items"]
    assert [(run["id"], run["result"]) for run in found] == [("1", "hello bob")]
    assert koken("runs", "job:nothing").out == "No run matches.\n"
    assert koken("--workspace", "acme", "runs", "--json").json == {"items": [], "next": None}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sate:failed"], "sate: is no word of the query. Did you mean state:?"),
        (["since:monday"], "since: 'monday' is neither a duration like 2h nor an instant"),
        (["--limit", "0"], "--limit is 0; it is between 1 and 1,000"),
    ],
)
def test_bad_query(koken: Koken, words: list[str], message: str) -> None:
    said = koken("runs", *words)
    assert (said.code, said.err) == (2, f"koken: {message}\n")


def test_page_after_page(koken: Koken, database_url: str) -> None:
    """A list says where its next page begins, to people and to programs."""
    for _ in range(3):
        koken("run", "greet")
    said = koken("runs", "--limit", "2")
    assert said.lines[-1] == "There may be more: --before 2"
    first = koken("runs", "--limit", "2", "--json").json
    assert ([run["id"] for run in first["items"]], first["next"]) == (["3", "2"], "2")
    rest = koken("runs", "--limit", "2", "--before", first["next"], "--json").json
    assert ([run["id"] for run in rest["items"]], rest["next"]) == (["1"], None)
    assert koken("runs", "--before", "1").out == "No run matches.\n"
    for wrong in ("x", "-1", "9" * 20, "9" * 5000):
        assert koken("runs", f"--before={wrong}").code == 2


def test_ticks_page_after_page(koken: Koken, database_url: str) -> None:
    """Due times that two schedules have in common stay together."""
    koken("run", "report")
    change(
        database_url,
        "insert into koken.schedule (workspace_id, job_id, name, declared, expression, timezone,"
        " catchup, tzdata, cursor_at) select workspace_id, job_id, 'b', declared, expression,"
        " timezone, catchup, tzdata, cursor_at from koken.schedule",
    )
    change(
        database_url,
        "insert into koken.tick (schedule_id, due_at, until_at, verdict) select s.id, due, due,"
        " 'missed' from koken.schedule s, generate_series(timestamptz '2026-03-01 02:00+00',"
        " '2026-03-03 02:00+00', '1 day') due",
    )
    first = koken("ticks", "report", "--limit", "3", "--json").json
    days = [tick["due_at"][8:10] for tick in first["items"]]
    assert (days, first["next"]) == (["03", "03", "02", "02"], "2026-03-02T02:00:00+00:00")
    rest = koken("ticks", "report", "--limit", "3", "--before", first["next"], "--json").json
    assert ([tick["due_at"][8:10] for tick in rest["items"]], rest["next"]) == (["01", "01"], None)
    assert koken("ticks", "report", "--limit", "3").lines[-1].endswith("--before " + first["next"])
    none = koken("ticks", "report", "--before", "2026-03-01T00:00:00+00:00").out
    assert none == "No tick matches.\n"
    assert koken("ticks", "report", "--before", "soon").code == 2


def test_ticks_of_all_jobs_narrowed(koken: Koken, database_url: str) -> None:
    """As the API narrows them; a schedule is called by its name here."""
    assert koken("ticks").out == "No ticks yet. `koken schedules` shows when jobs are due.\n"
    koken("run", "report")
    change(
        database_url,
        "insert into koken.tick (schedule_id, due_at, until_at, verdict, reason)"
        " select id, due, due, case when due > '2026-03-02' then 'skipped' else 'missed' end,"
        " 'storm' from koken.schedule, generate_series("
        " timestamptz '2026-03-01 02:00+00', '2026-03-03 02:00+00', '1 day') due",
    )
    assert narrow(koken("ticks", "--verdict", "skipped")) == [
        "2 ticks, newest first: 2 skipped.",
        "DUE (UTC)  JOB  VERDICT  RUN  REASON",
        "2026-03-03 02:00:00  report  – skipped  –  storm",
        "2026-03-02 02:00:00  report  – skipped  –  storm",
    ]
    late = koken("ticks", "--since", "2026-03-03", "--verdict", "skipped,missed", "--json").json
    assert [tick["due_at"][:10] for tick in late["items"]] == ["2026-03-03"]
    (name,) = {row["name"] for row in koken("schedules", "--json").json["items"]}
    assert len(koken("ticks", "--schedule", name, "--json").json["items"]) == 3
    assert koken("ticks", "report", "--schedule", "b").out == "No tick matches.\n"
    for wrong in (["--verdict", "late"], ["--since", "soon"]):
        assert koken("ticks", *wrong).code == 2


def test_jobs_that_are_retired(koken: Koken, database_url: str) -> None:
    koken("run", "greet")
    change(database_url, "update koken.job set retired_at = now() - interval '3 days'")
    assert koken("jobs").out.startswith("No jobs yet.")
    assert (
        narrow(koken("jobs", "--retired"))[2] == "greet  ○ ready … ago  retired … ago  –  default"
    )


def test_jobs(koken: Koken, work: Callable[[], None]) -> None:
    koken("run", "greet")
    koken("run", "broken")
    work()
    lines = narrow(koken("jobs"))
    assert lines[:3] == [
        "4 jobs; the last run failed of broken.",
        "JOB  LAST RUN  NEXT  SCHEDULE  QUEUE",
        "broken  ✗ failed … ago  –  –  default",
    ]
    assert lines[3] == "greet  ✓ succeeded … ago  –  –  default"
    assert lines[4] == "report  –  in …  0 2 * * *  reports"
    report = koken("jobs", "--json").json["items"][2]
    assert (report["name"], report["owner"], report["expressions"]) == (
        "report",
        "data",
        ["0 2 * * *"],
    )
    assert report["description"] == "Fails at first."


def test_schedules_and_ticks(koken: Koken, work: Callable[..., None], database_url: str) -> None:
    work()
    assert narrow(koken("schedules")) == [
        "1 schedule.",
        "JOB  NEXT  WHEN  OVERLAP  LAST TICK",
        "report  in …  At 02:00 every day, UTC  skip_if_running  –",
    ]
    assert koken("ticks", "report").out == (
        "report has no tick yet. `koken schedules` shows when it is due.\n"
    )
    change(
        database_url,
        "update koken.schedule set next_at = now() - interval '1 s',"
        " cursor_at = now() - interval '30 h'",
    )
    work("select count(*) from koken.tick")
    said = koken("ticks", "report")
    assert re.fullmatch(r"report: \d ticks?, newest first: 1 started.*\.", said.lines[0])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d 02:00:00  ✓ started .*succeeded +–", said.lines[2])
    tick = koken("ticks", "report", "--json").json["items"][0]
    assert (tick["verdict"], tick["run_state"], tick["run"]) == ("started", "succeeded", "1")
    assert koken("ticks", "nothing").code == 3


def test_queues_and_workers(koken: Koken, work: Callable[[], None]) -> None:
    work()
    assert koken("queues").lines == [
        "2 queues: 0 running, 0 ready.",
        "QUEUE    RUNNING  READY  SLOTS  LIMIT  RATE  PAUSED",
        "default        0      0      0      –     –  –",
        "reports        0      0      0      –     –  –",
    ]
    assert koken("queues", "--json").json["items"][0]["name"] == "default"
    assert koken("workers").out == "No worker is alive. Start one: koken worker.\n"
    gone = koken("workers", "--gone", "--json").json["items"]
    assert [(row["name"], row["standing"]) for row in gone] == [("w-1", "stopped")]
    assert narrow(koken("workers", "--gone"))[2].startswith("  1  w-1  – stopped  0/10  default:5")


def queue(**given: object) -> QueueRow:
    """A queue."""
    values = {"name": "q", "running": 0, "ready": 0, "slots": 0, "max_running": None, "rate": None}
    values |= {"burst": 1, "paused_at": None, "paused_by": None, "pause_reason": None}
    return QueueRow(**{**values, **given})  # type: ignore[arg-type]


def test_a_queue_with_everything(capsys: pytest.CaptureFixture[str]) -> None:
    paused = queue(
        ready=1001, running=3, slots=4, max_running=4, rate=0.5, paused_at=NOW - timedelta(hours=2),
        paused_by="mira", pause_reason="db move",
    )  # fmt: skip
    floor.show_queues([paused], NOW)
    assert capsys.readouterr().out.splitlines()[2].split(maxsplit=6) == [
        "q", "3", "1,000+", "4", "4", "30/m", "2 h ago by mira: db move",
    ]  # fmt: skip


def test_a_queue_that_is_full(capsys: pytest.CaptureFixture[str]) -> None:
    """bug-037: its mark is in the table, and a sentence below."""
    rows = [queue(name="a", ready=1001, running=4, slots=4), queue(name="b", running=4, slots=4)]
    floor.show_queues(rows, NOW)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["a", "4", "▲", "1,000+", "4", "–", "–", "–"]
    assert lines[4:] == ["▲ All 4 slots of queue a are taken; 1,000+ ready."]


@pytest.mark.parametrize(("rate", "text"), [(10, "10/s"), (0.5, "30/m"), (1 / 3600, "1/h")])
def test_rate(rate: float, text: str) -> None:
    assert words.rate(rate) == text


@pytest.mark.parametrize(
    ("standing", "mark"),
    [("live", "●"), ("draining", "◔"), ("suspect", "◌"), ("lost", "✗"), ("stopped", "–")],
)
def test_standings(standing: str, mark: str) -> None:
    row = WorkerRow(
        id=3, name="w", host="h", pid=1, app="", version="1", queues={"a": 2}, slots=2, busy=1,
        started_at=NOW, beat_at=NOW, silent_for=3, standing=standing,
    )  # fmt: skip
    assert str(floor.worker_cells(row, NOW)[2]) == f"{mark} {standing}"


def test_a_schedule_that_does_not_fire(capsys: pytest.CaptureFixture[str]) -> None:
    row = ScheduleRow(
        id=1, job="report", name="1", expression="5m", timezone="UTC", words="Every 5 min",
        overlap="allow", catchup="latest", next_at=None, paused_at=NOW - timedelta(minutes=5),
        paused_by="mira", pause_reason="holiday", problem="no zone", last_due_at=NOW,
        last_verdict="missed", last_reason=None,
    )  # fmt: skip
    calendar.show_schedules([row], NOW)
    assert capsys.readouterr().out.splitlines() == [
        "1 schedule, 1 paused.",
        "JOB     NEXT    WHEN         OVERLAP  LAST TICK",
        "report  paused  Every 5 min  allow    ◌ missed just now",
        "report was paused 5 min ago by mira: holiday.",
        "report cannot fire: no zone",
    ]


@pytest.mark.parametrize(("count", "text"), [(3, "3"), (10_000, "10,000"), (10_001, "10,000+")])
def test_how_many_due_times_a_tick_stands_for(count: int, text: str) -> None:
    assert calendar.times(count) == text


def test_jobs_whose_schedules_are_paused(koken: Koken, work: Callable[..., None]) -> None:
    work()
    koken("pause", "report")
    assert narrow(koken("jobs"))[4] == "report  –  paused  0 2 * * *  reports"


def test_nothing_is_cut_that_a_person_needs(capsys: pytest.CaptureFixture[str]) -> None:
    row = ScheduleRow(
        id=1, job="report", name="1", expression="0 2 * * *", timezone="x",
        words="At 02:00 every day, America/Argentina/Buenos_Aires", overlap="skip_if_running",
        catchup="latest", next_at=NOW, paused_at=NOW, paused_by="mira", pause_reason=None,
        problem=None, last_due_at=NOW - timedelta(minutes=12), last_verdict="started",
        last_reason=None,
    )  # fmt: skip
    calendar.show_schedules([row] * 4, NOW)
    out = capsys.readouterr().out
    assert "America/Argentina/Buenos_Aires" in "".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("was paused") == 1
    ticks = [
        TickRow(
            due_at=NOW, until_at=NOW, count=1, verdict="skipped", reason="run 7 goes " * 9,
            run_id=None, blocker_id=7, fired_at=NOW, schedule_id=1, schedule=name, job="report",
            expression="5m", timezone="UTC", run_state=None,
        )
        for name in ("east", "west")
    ]  # fmt: skip
    calendar.show_ticks("report", ticks)
    out = capsys.readouterr().out
    assert "SCHEDULE" in out
    assert "east" in out
    assert out.count("goes") == 18
    assert max(map(len, out.splitlines())) <= 80


def test_ticks_of_several_due_times(capsys: pytest.CaptureFixture[str]) -> None:
    row = TickRow(
        due_at=NOW, until_at=NOW, count=3, verdict="skipped", reason=None, run_id=None,
        blocker_id=7, fired_at=NOW, schedule_id=1, schedule="1", job="report",
        expression="5m", timezone="UTC", run_state=None,
    )  # fmt: skip
    calendar.show_ticks("report", [row])
    assert capsys.readouterr().out.splitlines() == [
        "report: 1 tick, newest first: 1 skipped.",
        "DUE (UTC)            VERDICT       RUN  REASON",
        "2026-03-08 12:00:00  – skipped ×3  –    run 7 goes",
    ]
