"""``koken retry skip resolve mark rerun fork bulk`` on a workflow: what they say and do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from koken.app import load_app
from koken.config import load
from koken.runtime.worker import Worker
from tests.cli.conftest import Koken, value
from tests.support.moments import until

NIGHT = '''
from pathlib import Path

import koken

app = koken.App("night")


@app.workflow(max_attempts=1)
def nightly() -> None:
    """The night's figures."""


@nightly.step
def rows() -> list[int]:
    return [1, 2, 3]


@nightly.step(lock="cluster", effect="pure")
def crunch(rows: list[int]) -> int:
    if not Path("scratch").exists():
        raise OSError("No space left on device")
    return sum(rows)


@nightly.step
def publish(crunch: int = 0) -> str:
    return f"published {crunch}"


@app.workflow
def sorry() -> None:
    """Says so when it fails."""


@sorry.step(name="crunch")
def crunch_once() -> int:
    raise OSError("No space left on device")


@sorry.step(after=["crunch"], join="any_failed")
def apologise() -> str:
    return "sorry"


@app.job(effect="unsafe")
def pay(n: int) -> None:
    raise TimeoutError("the bank does not answer")


@app.job
def fetch(n: int) -> int:
    if not Path("scratch").exists():
        raise TimeoutError("no answer")
    return n
'''


@pytest.fixture
def night(folder: Path, koken: Koken, monkeypatch: pytest.MonkeyPatch) -> Koken:
    """Gives a command to the program of the night."""
    (folder / "night.py").write_text(NIGHT)
    monkeypatch.setenv("KOKEN_APP", "night:app")
    return koken


@pytest.fixture
def drain(night: Koken, database_url: str) -> Callable[[], None]:
    """Has a worker do all that there is."""

    async def work() -> None:
        worker = Worker(load_app("night:app"), load({"worker": {"queues": ["default:5"]}}))
        await worker.start()
        try:
            await until(lambda: not going(database_url))
        finally:
            await worker.stop()

    return lambda: asyncio.run(work())


@pytest.fixture
def failed(night: Koken, drain: Callable[[], None]) -> Koken:
    """After a run of nightly that failed at crunch: it is run 1."""
    night("run", "nightly")
    drain()
    assert night("show", "1", "--json").json["state"] == "failed"
    return night


def going(url: str) -> int:
    """How many runs go that nothing else is made of."""
    text = "select count(*) from koken.run where finished_at is null and parent_id is null"
    return int(value(url, text))


def going_steps(url: str) -> list[str]:
    """The steps of run 1 that are not done, of whatever state."""
    text = "select string_agg(step || ' ' || state, ',' order by step_no) from koken.run"
    return str(value(url, f"{text} where parent_id = 1 and state <> 'succeeded'")).split(",")


def test_dry_run_says_what_and_does_nothing(failed: Koken, database_url: str) -> None:
    said = failed("retry", "1", "--from", "crunch", "--dry-run").lines
    told = [" ".join(line.split()) for line in said]
    assert told[0].startswith("again crunch pure inputs as recorded at ")
    assert told[0].endswith(": rows (3) lock cluster: free")
    assert told[1:] == [
        "then publish not declared not begun yet",
        "keeps rows · no outside effect may repeat · attempts count from 1 of 1 again",
    ]
    plan = failed("retry", "nightly", "--dry-run", "--json").json
    (again,) = plan["again"]
    assert (again["step"], again["effect"], plan["max_attempts"]) == ("crunch", "pure", 1)
    assert [(each["step"], each["items"]) for each in again["inputs"]] == [("rows", 3)]
    assert going_steps(database_url) == ["crunch failed", "publish blocked"]


def test_retry(failed: Koken, drain: Callable[[], None], folder: Path) -> None:
    (folder / "scratch").touch()
    said = failed("retry", "1", "--from", "crunch", "--reason", "scratch cleaned")
    assert said.out.startswith("crunch ready; 1 step follows. Recorded: anna, ")
    drain()
    assert failed("show", "1", "--json").json["result"] == "published 6"
    refused = failed("retry", "1")
    assert (refused.code, refused.err) == (
        4,
        (
            "koken: run 1: it has succeeded. retry 1 --from STEP does a part of it again, "
            "rerun 1 all of it\n"
        ),
    )


def test_skip(failed: Koken, drain: Callable[[], None]) -> None:
    said = failed("skip", "1", "crunch", "--reason", "not today")
    assert said.out.startswith("crunch skipped; 1 step follows. Recorded: anna, ")
    drain()
    assert failed("show", "1", "--json").json["result"] == "published 0"
    assert failed("skip", "1", "crunch").code == 4
    assert failed("skip", "1").err == "koken: run 1: say which step: skip 1 STEP\n"
    assert failed("skip", "1", "chrunch").code == 3


def test_resolve(failed: Koken, drain: Callable[[], None]) -> None:
    bad = failed("resolve", "1", "crunch", "--result", '"much"')
    assert (bad.code, bad.err[:30]) == (2, "koken: nightly.crunch(result):")
    assert failed("resolve", "1", "crunch", "--result", "{").code == 2
    said = failed("resolve", "1", "crunch", "--result", "41", "--reason", "by hand")
    assert said.out.startswith("crunch done; 1 step follows. Recorded: anna, ")
    drain()
    assert failed("show", "1", "--json").json["result"] == "published 41"


def test_mark(failed: Koken, drain: Callable[[], None], folder: Path) -> None:
    assert failed("mark", "1", "crunch", "2").code == 2
    assert failed("mark", "1", "crunch", "4", "--dry-run", "--json").json["verb"] == "resolve"
    (folder / "scratch").touch()
    said = failed("mark", "1", "crunch", "0", "--reason", "ran out of space")
    assert said.out.startswith("crunch ready; 1 step follows. Recorded: anna, ")
    drain()
    assert failed("show", "1", "--json").json["result"] == "published 6"


def test_rerun_and_fork(failed: Koken, drain: Callable[[], None], folder: Path) -> None:
    (folder / "scratch").touch()
    said = failed("rerun", "1", "--reason", "from the start")
    assert said.lines == ["nightly 5 is a rerun of run 1; follow it: koken watch 5"]
    drain()
    said = failed("fork", "1", "--from", "crunch", "--json")
    assert said.json["origin"] == {"id": "1", "verb": "fork"}
    drain()
    assert failed("show", said.json["id"], "--json").json["result"] == "published 6"
    assert failed("fork", "1").err == "koken: run 1: say from which step: fork 1 --from STEP\n"


def test_what_may_not_go_is_not_called_ready(night: Koken, drain: Callable[[], None]) -> None:
    night("run", "sorry")
    drain()
    said = night("retry", "1", "--from", "crunch")
    assert said.out.startswith("crunch ready. Recorded: anna, ")


def test_a_new_run_does_not_count_anew(failed: Koken) -> None:
    for verb in (["rerun", "1"], ["fork", "1", "--from", "crunch"]):
        said = failed(*verb, "--dry-run")
        assert (said.code, "attempts count" in said.out) == (0, False)


def test_retry_many(
    night: Koken, drain: Callable[[], None], folder: Path, database_url: str
) -> None:
    for n in range(7):
        night("run", "fetch", f"n={n}")
    drain()
    (folder / "scratch").touch()
    query = "job:fetch error:Timeout since:2h"
    said = night("retry", "--where", query, "--dry-run").lines
    assert (said[0], said[-1]) == ("7 runs would be retried: fetch 7", "  and 2 more")
    assert len(said) == 7
    refused = night("retry", "--where", query, "--reason", "it is back")
    assert (refused.code, refused.err) == (
        2,
        "koken: nothing was done: --yes says that you mean it\n",
    )
    assert night("retry", "--where", query, "--yes").code == 2
    assert night("retry", "1", "--where", query).code == 2
    said = night(
        "retry", "--where", query, "--yes", "--reason", "it is back", "--rate", "50/s"
    ).lines
    assert said == [("bulk 1 retries 7 runs at 50/s. Follow it: koken bulk 1")]
    assert night("bulk", "pause", "1").lines == ["bulk 1 is paused; 0 of 7 runs retried."]
    assert night("bulk", "resume", "1").lines == ["bulk 1 is running; 0 of 7 runs retried."]
    asyncio.run(worked(database_url))
    told = night("bulk").lines[1].split()
    assert told[:4] == ["1", "retry", "done", "7/7"]
    assert told[5:9] == ["0", "0", "50/s", "anna"]
    assert night("bulk", "--json").json["items"][0]["state"] == "done"
    assert night("bulk", "stop", "1").code == 4
    assert night("bulk", "stop").code == 2
    assert night("bulk", "end", "1").code == 2
    (said,) = night("bulk", "1").lines
    assert said.startswith("bulk 1 is done; 7 of 7 runs retried: ")
    assert night("bulk", "9").code == 3
    for words, start in (
        (["--rate", "fast"], "koken: rate is 'fast'; "),
        (["--force", "--reason", "x"], "koken: --force is for one run at a time: "),
    ):
        said = night("retry", "--where", query, "--dry-run", *words)
        assert (said.code, said.err[: len(start)]) == (2, start)


def test_cancel_and_skip_many(night: Koken, drain: Callable[[], None]) -> None:
    for n in range(2):
        night("run", "pay", f"n={n}", "--delay", "1h")
    where = ("--where", "job:pay", "--reason", "wrong market")
    assert night("cancel", *where, "--dry-run").lines[0] == "2 runs would be cancelled: pay 2"
    assert night("cancel", *where, "--yes").lines == [
        "bulk 1 cancels 2 runs at 5/s. Follow it: koken bulk 1"
    ]
    assert night("bulk", "1").lines == ["bulk 1 is running; 0 of 2 runs cancelled."]
    assert night("skip", *where, "--yes").lines == ["0 runs would be skipped past what failed"]
    for words, said in (
        (["cancel"], "say which run, or --where QUERY"),
        (["cancel", "1", "--dry-run"], "--dry-run is for --where here: a cancel has no plan"),
        (["cancel", "1", *where], "--where says which runs; leave out RUN"),
        (["skip", *where, "--force"], "--force is for one run at a time; leave out --where"),
    ):
        refused = night(*words)
        assert (refused.code, refused.err) == (2, f"koken: {said}\n")


def test_many_are_acknowledged(night: Koken, drain: Callable[[], None], database_url: str) -> None:
    for n in range(2):
        night("run", "fetch", f"n={n}")
    drain()
    where = ("--where", "job:fetch", "--reason", "known")
    assert night("acknowledge", *where, "--dry-run").lines[0] == (
        "2 runs would be acknowledged: fetch 2"
    )
    assert night("acknowledge", *where, "--yes", "--rate", "50/s").lines == [
        "bulk 1 acknowledges 2 runs at 50/s. Follow it: koken bulk 1"
    ]
    asyncio.run(worked(database_url))
    assert night("bulk", "1").lines == ["bulk 1 is done; 2 of 2 runs acknowledged."]
    assert night("runs", "state:open", "--json").json["items"] == []
    assert len(night("runs", "bulk:1", "--json").json["items"]) == 2
    assert night("runs", "bulk:x").err.startswith("koken: bulk: 'x' is no bulk's number")
    for words, said in (
        (["acknowledge"], "say which run, or --where QUERY"),
        (
            ["acknowledge", "1", "--dry-run"],
            "--dry-run is for --where here: an acknowledgement has no plan",
        ),
    ):
        refused = night(*words)
        assert (refused.code, refused.err) == (2, f"koken: {said}\n")


def test_refusals_are_foreseen_and_told(
    night: Koken, drain: Callable[[], None], database_url: str
) -> None:
    for n in range(2):
        night("run", "pay", f"n={n}")
    drain()
    why = "  2  retry repeats pay, which is unsafe; --force with a reason does it"
    foreseen = night("retry", "--where", "job:pay", "--dry-run").lines
    assert foreseen[-2:] == ["2 runs would be refused:", why]
    said = night("retry", "--where", "job:pay", "--dry-run", "--json").json
    assert said["refusals"] == {why.removeprefix("  2  "): 2}
    night("retry", "--where", "job:pay", "--yes", "--reason", "it is back")
    asyncio.run(worked(database_url))
    assert night("bulk", "1").lines == [
        "bulk 1 is done; 0 of 2 runs retried.",
        "2 runs refused:",
        why,
    ]
    assert night("bulk", "1", "--json").json["refusals"] == said["refusals"]


async def worked(url: str) -> None:
    """A worker until the bulk is done."""
    worker = Worker(load_app("night:app"), load({"worker": {"queues": ["default:5"]}}))
    await worker.start()
    try:
        await until(lambda: value(url, "select state from koken.bulk") == "done")
        await until(lambda: not going(url))
    finally:
        await worker.stop()
