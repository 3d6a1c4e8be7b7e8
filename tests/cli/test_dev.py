"""``koken dev``: a private server and a worker, of which nothing is left."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from koken.cli import private
from koken.embedded.folder import Folder, worked_in
from tests.cli.conftest import Koken, process, value, wait_for_line
from tests.support.moments import until_sync


@pytest.fixture
def dev(terminal: Koken, folder: Path) -> Iterator[Path]:
    """A folder whose settings name the app and no database."""
    (folder / "koken.toml").write_text('app = "shop:app"\n')
    yield folder
    shutil.rmtree((folder / private.DATA).resolve(), ignore_errors=True)  # where it is a link


@contextmanager
def running(folder: Path, **environment: str) -> Iterator[Any]:
    """A ``koken dev`` that is at work."""
    with process("dev", folder=folder, **environment) as child:
        yield child, wait_for_line(child.stdout, "  slow ")


def test_a_whole_day(dev: Path, terminal: Koken) -> None:
    with running(dev) as (child, lines):
        assert re.fullmatch(
            r"koken dev  shop · PostgreSQL \d+\.\d+ in \.koken/postgres · Ctrl-C ends it", lines[1]
        )
        assert re.fullmatch(
            r"For your programs:  export KOKEN_DATABASE_URL=postgresql://postgres@127\.0\.0\.1:\d+"
            r"/postgres",
            lines[2],
        )
        assert re.fullmatch(r"Console:  http://127\.0\.0\.1:\d+", lines[3])
        with urlopen(f"{lines[3].split()[1]}/") as answer:
            assert (answer.status, b"All quiet" in answer.read()) == (200, True)
        assert lines[4:6] == ["4 jobs:", "  broken  start it: koken run broken"]
        assert re.fullmatch(r"  report  next in \d+ (s|min|h) \(0 2 \* \* \*, UTC\)", lines[7])
        assert terminal("run", "report", "--wait").code == 0
        assert terminal("run", "greet", "name=bob", "--wait").code == 0
        shown = wait_for_line(child.stdout, "✓ greet 2")
        data = (dev / private.DATA).resolve() / "pgdata"
        assert worked_in(data)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, "")
    assert out == "Stopped; nothing is left running.\n"
    said = "\n".join(shown)
    assert "│ report 1  WARNING attempt 1" in said
    assert "✓ report 1  succeeded in " in said
    assert "│ greet 2  hello bob" in said
    assert shown[-1].endswith('→ "hello bob"')
    until_sync(lambda: not worked_in(data))
    assert (dev / ".koken" / ".gitignore").read_text() == "*\n"
    stopped = terminal("runs")
    assert (stopped.code, stopped.err) == (
        5,
        (
            "koken: `koken dev` does not run in this folder; its data is in .koken/postgres. "
            "Start it, or set KOKEN_DATABASE_URL\n"
        ),
    )
    with running(dev) as (child, _):
        assert len(terminal("runs", "--json").json["items"]) == 2
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
    assert child.returncode == 0


def test_killed_leaves_nothing_running(dev: Path) -> None:
    with running(dev) as (child, _):
        note = Folder((dev / private.DATA).resolve()).postmaster()
        assert note is not None
        child.kill()
        child.communicate(timeout=60)
    until_sync(lambda: not note.answers())


def test_a_server_that_ends_is_started_again_once(dev: Path, terminal: Koken) -> None:
    with running(dev) as (child, _):
        folder = Folder((dev / private.DATA).resolve())
        kill_server(folder)
        lines = wait_for_line(child.stdout, "PostgreSQL is back")
        assert any(line.startswith("PostgreSQL has ended by itself (see .koken/") for line in lines)
        assert terminal("run", "greet", "--wait").code == 0
        kill_server(folder)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 5
    assert "PostgreSQL has ended again; see .koken/postgres/postgres.log" in out
    assert "Traceback" not in err


def kill_server(folder: Folder) -> None:
    """Kill the server of a folder, as a machine short of memory does."""
    note = folder.postmaster()
    assert note is not None
    os.kill(note.pid, signal.SIGKILL)


def test_an_app_without_jobs(dev: Path, empty_database_url: str) -> None:
    (dev / "bare.py").write_text("import koken\napp = koken.App('bare')\n")
    environment = {"KOKEN_APP": "bare:app", "KOKEN_DATABASE_URL": empty_database_url}
    with process("dev", folder=dev, **environment) as child:
        assert "@app.job" in wait_for_line(child.stdout, "The app has no jobs.")[-1]
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    assert child.returncode == 0


def test_bodies_have_their_grace_and_go_on_later(dev: Path, terminal: Koken) -> None:
    with running(dev) as (child, _):
        terminal("run", "slow")
        wait_for_line(child.stdout, "● slow 1  running")
        child.send_signal(signal.SIGINT)
        wait_for_line(
            child.stdout, "Stopping: 1 run may go on for 3 s; Ctrl-C again stops at once."
        )
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    assert child.returncode == 0
    with running(dev) as (child, _):
        wait_for_line(child.stdout, "● slow 1  running")
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)


def test_a_database_that_is_named(dev: Path, empty_database_url: str) -> None:
    with running(dev, KOKEN_DATABASE_URL=empty_database_url) as (child, lines):
        assert lines[0].startswith("koken dev  shop · database 127.0.0.1:")
        assert not (dev / ".koken").exists()
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    assert child.returncode == 0
    assert value(empty_database_url, "select count(*) from koken.job") == 4


def test_an_app_that_names_its_database_and_a_client_at_import(
    dev: Path, empty_database_url: str
) -> None:
    (dev / "own.py").write_text(
        "import koken\n"
        f"app = koken.App('own', database_url={empty_database_url!r})\n"
        "client = koken.Client(app)\n"
        "@app.job\ndef slow() -> None: ...\n"
    )
    with running(dev, KOKEN_APP="own:app") as (child, lines):
        assert lines[0].startswith("koken dev  own · database 127.0.0.1:")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    assert not (dev / ".koken").exists()


def test_a_client_at_import_finds_the_private_server(dev: Path, terminal: Koken) -> None:
    (dev / "eager.py").write_text(
        "from shop import app\nimport koken\nclient = koken.Client(app)\n"
        "@app.job\ndef start() -> int:\n"
        "    with client:\n        return client.start(koken.Job('greet')).id\n"
    )
    with running(dev, KOKEN_APP="eager:app") as (child, _):
        assert terminal("run", "start", "--wait").lines[0].endswith("→ 2")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user runs the server only for root")
def test_a_folder_out_of_the_servers_reach(dev: Path) -> None:
    dev.chmod(0o700)
    with running(dev) as (child, _):
        link = dev / private.DATA
        assert link.is_symlink()
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    assert child.returncode == 0
