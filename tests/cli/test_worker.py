"""``koken worker`` as a process: how it begins, and how it ends when it is asked to."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from koken.embedded.boot import free_port
from tests.cli.conftest import Koken, change, process, value, wait_for_line
from tests.support.moments import until_sync

QUEUES = ("--queue", "default:5", "--queue", "reports:2")
STATE = "select state from koken.run where id = 1"


@contextmanager
def worker(folder: Path, *words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A worker that is at work."""
    with process("worker", *QUEUES, *words, folder=folder, **environment) as child:
        wait_for_line(child.stderr, "serves default:5, reports:2")
        yield child


def running(url: str) -> None:
    """Wait until the run's body is at work; what is only claimed is handed back at once."""
    until_sync(lambda: value(url, "select progress from koken.run where id = 1") is not None)


def rest(child: subprocess.Popen[str]) -> str:
    """What it says until it ends."""
    return child.communicate(timeout=30)[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_drains(koken: Koken, folder: Path, database_url: str, number: int) -> None:
    koken("run", "slow", "seconds=2")
    with worker(folder) as child:
        running(database_url)
        child.send_signal(number)
        said = rest(child)
    assert child.returncode == 0
    assert "draining: 1 body, 30 s; ask again to stop at once" in said
    assert value(database_url, STATE) == "succeeded"
    assert koken("workers", "--gone", "--json").json["items"][0]["standing"] == "stopped"


def test_hands_back_when_the_grace_ends(koken: Koken, folder: Path, database_url: str) -> None:
    koken("run", "slow")
    with worker(folder, "--grace", "100ms") as child:
        running(database_url)
        child.terminate()
        rest(child)
    assert child.returncode == 0
    assert value(database_url, STATE) == "ready"
    assert value(database_url, "select attempt from koken.run") == 0


def test_the_second_signal_is_final(koken: Koken, folder: Path, database_url: str) -> None:
    koken("run", "slow")
    with worker(folder, "--grace", "1h") as child:
        running(database_url)
        child.terminate()
        wait_for_line(child.stderr, "draining")
        child.terminate()
        said = rest(child)
    assert child.returncode == 0
    assert "asked again: 1 body to stop and hand back" in said
    assert value(database_url, STATE) == "ready"


@pytest.mark.parametrize("moment", [0.0, 0.1, 0.2, 0.3, 0.4, 0.6])
def test_a_stop_is_heard_whenever_it_comes(koken: Koken, folder: Path, moment: float) -> None:
    koken("run", "greet", "--delay", "1h")
    with process("worker", folder=folder) as child:
        begun = time.monotonic()
        until_sync(lambda: time.monotonic() - begun > moment)  # any moment of its start
        child.terminate()
        said = rest(child)
    assert child.returncode in (0, -signal.SIGTERM)
    assert "Traceback" not in said


def test_a_stop_before_the_app_is_read(koken: Koken, folder: Path) -> None:
    (folder / "asked.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nfrom shop import app\n"
    )
    with process("worker", "--app", "asked:app", folder=folder) as child:
        said = rest(child)
    assert child.returncode == 0
    assert said.splitlines()[-1].endswith("asked to stop before it began")
    assert koken("workers", "--gone", "--json").json["items"] == []


def test_a_stop_while_the_lifespan_is_entered(koken: Koken, folder: Path) -> None:
    (folder / "long.py").write_text(
        "import asyncio, contextlib, os, signal\nimport koken\n"
        "@contextlib.asynccontextmanager\n"
        "async def lifespan():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    await asyncio.sleep(3600)\n"
        "    yield\n"
        "app = koken.App('long', lifespan=lifespan)\n"
    )
    with process("worker", "--app", "long:app", folder=folder) as child:
        rest(child)
    assert child.returncode == 0


def test_waits_for_the_database(koken: Koken, folder: Path, database_url: str) -> None:
    nowhere = f"postgresql://postgres@127.0.0.1:{free_port()}/x"
    with process("worker", folder=folder, KOKEN_DATABASE_URL=nowhere) as child:
        line = wait_for_line(child.stderr, "trying again in 1 s")[-1]
        assert re.match(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z WARNING koken.worker: PostgreSQL", line)
        wait_for_line(child.stderr, "trying again in 2 s")
        child.terminate()
        assert "asked to stop before it began" in rest(child)
    assert child.returncode == 0


def test_begins_when_the_database_is_there(
    koken: Koken, folder: Path, database_url: str, postgres_url: str
) -> None:
    name = database_url.rpartition("/")[2]
    later = f"{name}_later"
    url = database_url.replace(name, later)
    try:
        with process("worker", folder=folder, KOKEN_DATABASE_URL=url) as child:
            assert later in wait_for_line(child.stderr, "trying again")[-1]
            change(postgres_url, f"create database {later} template {name}")
            wait_for_line(child.stderr, "serves default:50")
            child.terminate()
            rest(child)
        assert child.returncode == 0
    finally:
        change(postgres_url, f"drop database {later} with (force)")


def test_refuses_tables_that_do_not_fit(
    terminal: Koken, folder: Path, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKEN_DATABASE_URL", empty_database_url)
    with process("worker", "--app", "shop:app", folder=folder) as child:
        said = rest(child)
    assert child.returncode == 4
    assert said.splitlines()[-1].endswith("; run `koken migrate` first")
    assert terminal("migrate").code == 0
    change(
        empty_database_url,
        "insert into koken.migration (number, name, minimum_reader) values (9999, 'x', 9999)",
    )
    with process("worker", "--app", "shop:app", folder=folder) as child:
        said = rest(child)
    assert child.returncode == 4
    assert said.splitlines()[-1].endswith("Upgrade Koken here")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--queue", "reports:x"], "--queue: 'reports:x' is no queue; write it as reports:4"),
        (
            ["--queue", "reports:0"],
            "--queue: queue reports has 0 slots; slots count from 1 to 100000",
        ),
        (["--grace", "soon"], "--grace is 'soon'; write it as '90s', '5m', '12h' or '1d 6h'"),
    ],
)
def test_bad_usage(koken: Koken, folder: Path, words: list[str], message: str) -> None:
    with process("worker", *words, folder=folder) as child:
        said = rest(child)
    assert (child.returncode, said.splitlines()[-1]) == (2, f"koken: {message}")


def test_lifespan_that_fails(koken: Koken, folder: Path) -> None:
    (folder / "bad.py").write_text(
        "import contextlib\nimport koken\n"
        "@contextlib.contextmanager\n"
        "def lifespan():\n    raise RuntimeError('no pool')\n    yield\n"
        "app = koken.App('bad', lifespan=lifespan)\n"
    )
    with process("worker", "--app", "bad:app", folder=folder) as child:
        said = rest(child)
    assert child.returncode == 1
    assert said.splitlines()[-1].startswith("koken: RuntimeError: no pool (")


def test_log_for_programs(koken: Koken, folder: Path) -> None:
    with process("worker", *QUEUES, "--json", folder=folder) as child:
        line = wait_for_line(child.stderr, "serves")[-1]
        child.terminate()
        rest(child)
    record = json.loads(line)
    assert (record["level"], record["logger"]) == ("info", "koken.worker")
    assert "serves default:5, reports:2; if it dies" in record["text"]


def test_what_bodies_say_stays_out_of_its_log(
    koken: Koken, folder: Path, database_url: str
) -> None:
    koken("run", "report")
    with worker(folder) as child:
        until_sync(lambda: value(database_url, STATE) == "succeeded")
        child.terminate()
        out, said = child.communicate(timeout=30)
    assert out == ""
    assert "attempt 1" not in said
    assert sum("WARNING attempt" in line for line in koken("logs", "report").lines) == 2
