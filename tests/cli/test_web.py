"""``koken web`` as a process: where it listens, whom it lets in, and how it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from koken.embedded.boot import free_port
from tests.cli.conftest import Koken, change, process, wait_for_line
from tests.support.moments import until_sync

OPEN = "console on "


@contextmanager
def web(
    folder: Path, *words: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A console that is open, and its address."""
    with process("web", "--port", "0", *words, folder=folder, **environment) as child:
        line = wait_for_line(child.stderr, OPEN)[-1]
        yield child, line.partition(OPEN)[2].partition(",")[0]


def rest(child: subprocess.Popen[str]) -> str:
    """What it says until it ends."""
    return child.communicate(timeout=30)[1]


def test_serves_and_says_who_comes_in(koken: Koken, folder: Path) -> None:
    with web(folder) as (child, address):
        assert "Nobody has credentials yet" in wait_for_line(child.stderr, "WARNING")[-1]
        assert httpx.get(f"{address}/ready").status_code == 200
        started = httpx.post(f"{address}/api/v1/runs", json={"job": "greet", "args": {"name": "x"}})
        assert started.status_code == 201
        refused = httpx.post(f"{address}/api/v1/runs", json={"job": "greet", "args": {"name": 1}})
        assert refused.json()["problems"] == {"name": "1 is not text"}
        child.send_signal(signal.SIGTERM)
        rest(child)
    assert child.returncode == 0


def test_serves_without_an_app(koken: Koken, folder: Path) -> None:
    koken("run", "greet")
    (folder / "koken.toml").unlink(missing_ok=True)
    with web(folder, KOKEN_APP="") as (_, address):
        made = httpx.post(f"{address}/api/v1/runs", json={"job": "greet", "args": {"name": 1}})
        assert (made.status_code, list(made.json()["problems"])) == (422, ["name"])
        made = httpx.post(f"{address}/api/v1/runs", json={"job": "greet", "args": {"name": "x"}})
        assert made.status_code == 201


def test_ends_at_once_beneath_live_views(koken: Koken, folder: Path) -> None:
    run = koken("run", "greet", "--json").json["id"]
    with (
        web(folder) as (child, address),
        httpx.stream("GET", f"{address}/api/v1/runs/{run}/stream") as watched,
    ):
        assert "event: run" in watched.iter_lines()
        child.send_signal(signal.SIGTERM)
        assert "Traceback" not in rest(child)
    assert child.returncode == 0


def test_a_second_signal_is_no_harm(koken: Koken, folder: Path) -> None:
    with web(folder) as (child, _):
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGTERM)
        rest(child)
    assert child.returncode == 0


def test_listens_everywhere_only_for_those_with_credentials(koken: Koken, folder: Path) -> None:
    with process("web", "--host", "0.0.0.0", "--port", "0", folder=folder) as child:
        said = rest(child)
    assert child.returncode == 2
    assert said.splitlines()[-1] == (
        "koken: nobody has credentials yet, and without any Koken listens on this machine alone. "
        "Let somebody in with `koken user add NAME --role admin`, or leave --host at 127.0.0.1"
    )
    made = koken("token", "add", "ci", "--may", "read", "--json")
    token = made.json["token"]
    with process("web", "--host", "0.0.0.0", "--port", "0", folder=folder) as child:
        said = wait_for_line(child.stderr, OPEN)[-1]
        assert re.search(r"console on http://localhost:\d+, listening everywhere, database", said)
        address = said.partition(OPEN)[2].partition(",")[0]
        assert httpx.get(f"{address}/api/v1/runs").status_code == 401
        bearer = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"{address}/api/v1/runs", headers=bearer).status_code == 200


def test_two_beside_each_other(koken: Koken, folder: Path) -> None:
    with web(folder) as (_, one), web(folder) as (_, other):
        run = httpx.post(f"{one}/api/v1/runs", json={"job": "greet"}).json()["id"]
        assert httpx.get(f"{other}/api/v1/runs/{run}").json()["id"] == run


def test_a_port_that_is_taken(koken: Koken, folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with process("web", "--port", str(port), folder=folder) as child:
            said = rest(child)
    assert child.returncode == 2
    assert f"the console cannot listen on 127.0.0.1:{port}" in said


def test_waits_for_the_database(koken: Koken, folder: Path) -> None:
    nowhere = f"postgresql://postgres@127.0.0.1:{free_port()}/x"
    with process("web", "--port", "0", folder=folder, KOKEN_DATABASE_URL=nowhere) as child:
        wait_for_line(child.stderr, "trying again in 2 s")
        child.terminate()
        rest(child)
    assert child.returncode == 0


def test_refuses_tables_that_do_not_fit(
    folder: Path, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKEN_DATABASE_URL", empty_database_url)
    with process("web", "--app", "shop:app", "--port", "0", folder=folder) as child:
        said = rest(child)
    assert child.returncode == 4
    assert said.splitlines()[-1].endswith("; run `koken migrate` first")


def test_goes_on_when_the_database_comes_back(
    koken: Koken, folder: Path, database_url: str
) -> None:
    with web(folder) as (_, address):
        assert httpx.get(f"{address}/api/v1/runs").status_code == 200
        change(
            database_url,
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()",
        )
        until_sync(lambda: httpx.get(f"{address}/api/v1/runs").status_code == 200)
        assert httpx.get(f"{address}/health").status_code == 200
