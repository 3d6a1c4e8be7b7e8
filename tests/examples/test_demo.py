"""``make demo`` as a process of its own: the whole show, and its end by signals at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.moments import until_sync
from tests.support.postgres import scratch_directory

ROOT = Path(__file__).parents[2]
PROCESSES = Path("/proc")

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not PROCESSES.is_dir(), reason="looks for processes in /proc"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the demo keeps its files and its database, and what its processes are known by."""
    with scratch_directory() as directory:
        yield directory


def started(folder: Path) -> subprocess.Popen[str]:
    """The demo, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "examples.flights.demo", "--folder", str(folder / "demo")],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder), "KOKEN_SCHEMA": "of somebody else"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def running(folder: Path) -> list[str]:
    """The processes, other than this one, that know the folder by their command or environment."""
    found = []
    for process in PROCESSES.glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        try:
            known = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue  # it has ended, or is not ours
        if os.fsencode(folder) in known:
            found.append(known.split(b"\0")[0].decode())
    return found


def read_until(demo: subprocess.Popen[str], word: str) -> str:
    """What the demo says up to the line with ``word``."""
    assert demo.stdout is not None
    lines = []
    for line in demo.stdout:
        lines.append(line)
        if word in line:
            return "".join(lines)
    pytest.fail(f"no {word!r} in:\n{''.join(lines)}")


def test_whole_show_without_a_terminal(folder: Path) -> None:
    with started(folder) as demo:
        said, _ = demo.communicate(timeout=100)
    assert demo.returncode == 0, said
    words = [line.split()[1] for line in said.splitlines() if line[2:3].isdigit()]
    before, after = words[: words.index("failed")], words[words.index("failed") :]
    assert [word for word in before if word != "tick"] == [
        "airline",
        "running",
        "succeeded",
        "running",
    ]
    assert after[:2] == ["failed", "waiting"]
    healing = [word for word in after[: after.index("succeeded")] if word != "tick"]
    assert healing == ["failed", "waiting", "airline", "running"]
    assert "EOFError: Compressed file ended" in said
    assert "attempt 2 of 5" in said
    assert "starts nothing: run 2 still goes" in said
    assert "no departure time: 472 left out" in said
    assert '"bad_rows": 475' in said
    assert "Try next" in said
    assert max(len(line) for line in said.splitlines()) <= 80
    assert "\x1b" not in said
    reports = folder / "demo" / "reports"
    assert {file.name for file in reports.iterdir()} == {
        "2013-02-07.html",
        "2013-02-07.svg",
        "2013-02-08.html",
        "2013-02-08.svg",
    }
    assert running(folder) == []
    assert list(folder.glob("koken-demo-*")) == []


@pytest.mark.parametrize(
    ("moment", "to_all"),
    [
        ("Set-up", False),
        ("Set-up", True),
        ("PostgreSQL", False),
        ("migration", True),
        ("worker 2", False),
        ("running", True),
    ],
)
def test_interrupted(folder: Path, moment: str, to_all: bool) -> None:
    """``to_all``: to the whole process group, as a terminal does it, by an impatient person."""
    with started(folder) as demo:
        read_until(demo, moment)
        if to_all:
            os.killpg(demo.pid, signal.SIGINT)
            os.killpg(demo.pid, signal.SIGINT)
        else:
            demo.send_signal(signal.SIGINT)
        said, _ = demo.communicate(timeout=60)
    assert demo.returncode == 130, said
    assert said.endswith("\nEnded; nothing is left running.\n")
    assert "Traceback" not in said
    assert running(folder) == []
    assert list(folder.glob("koken-demo-*")) == []


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_end_it_as_well(folder: Path, signum: signal.Signals) -> None:
    with started(folder) as demo:
        read_until(demo, "PostgreSQL")
        demo.send_signal(signum)
        said, _ = demo.communicate(timeout=60)
    assert demo.returncode == 130, said
    assert running(folder) == []


def test_killed(folder: Path) -> None:
    with started(folder) as demo:
        read_until(demo, "schedule")
        demo.kill()
    until_sync(lambda: running(folder) == [], timeout=30)
