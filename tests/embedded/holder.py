"""Another process that starts a server, or joins one, and keeps it until it is told to let go."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import koken.embedded.server
from koken.embedded.account import Account, account_for
from koken.embedded.binaries import Binaries
from koken.embedded.reach import within_reach
from tests.support.postgres import scratch_directory

PACKAGE = Path(koken.embedded.server.__file__).parents[1]

PROGRAM = """
import json, sys
from pathlib import Path
from koken.embedded import guardian
from koken.embedded.server import Server

data_dir, binaries, binding = sys.argv[1:]
if binding == "watchdog":
    guardian.death_signal = lambda: ()
with Server.start(Path(data_dir), binaries=Path(binaries)) as server:
    print(json.dumps({"url": server.url, "pid": server.pid, "owned": server.owned}), flush=True)
    sys.stdin.read()
"""


@dataclass(frozen=True, slots=True)
class Person:
    """Who runs the other process, and with which Python."""

    account: Account
    python: str
    path: Path


@dataclass(frozen=True, slots=True)
class Holder:
    """The other process; ``url``, ``pid`` and ``owned`` are its server's."""

    process: subprocess.Popen[str]
    url: str
    pid: int
    owned: bool

    def let_go(self) -> None:
        """End the process in an orderly way."""
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0

    def kill(self) -> None:
        """End it with no chance to do anything."""
        self.process.kill()
        self.process.communicate(timeout=60)


@contextmanager
def launched(
    person: Person, data_dir: Path, binaries: Binaries, *, binding: str = ""
) -> Iterator[subprocess.Popen[str]]:
    """The other process, perhaps still on its way to a server."""
    programs = within_reach(binaries, person.account).directory
    with subprocess.Popen(
        [person.python, "-c", PROGRAM, str(data_dir), str(programs), binding],
        user=person.account.uid,
        group=person.account.gid,
        extra_groups=person.account.groups,
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(person.path), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[str]) -> Holder:
    """The other process, once it has its server."""
    assert process.stdout is not None
    return Holder(process, **json.loads(process.stdout.readline()))


@contextmanager
def holding(
    person: Person, data_dir: Path, binaries: Binaries, *, binding: str = ""
) -> Iterator[Holder]:
    """Another process with a server on this data folder."""
    with launched(person, data_dir, binaries, binding=binding) as process:
        yield told(process)


def myself() -> Person:
    """Whoever runs the tests."""
    return Person(Account("me"), sys.executable, PACKAGE.parent)


@contextmanager
def somebody() -> Iterator[Person]:
    """A user without rights, who may not look into root's home: the code is laid out for them.

    Their Python has no packages, so it is the part of the code that needs none.
    """
    account = account_for(Path("/nothing there"))
    with scratch_directory() as path:
        account.give(path)
        shutil.copytree(PACKAGE / "embedded", path / "koken" / "embedded")
        shutil.copy(PACKAGE / "errors.py", path / "koken")
        yield Person(account, python_for(account), path)


def python_for(account: Account) -> str:
    """A Python that the user may run."""
    fits = "import sys; sys.exit(sys.version_info < (3, 11))"
    for name in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            if account.run(name, "-c", fits).returncode == 0:
                return name
        except OSError:
            continue
    pytest.skip(f"no Python 3.11 that the user {account.name} may run")
