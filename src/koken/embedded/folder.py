"""A data folder: where it is, who runs on it, and how it is made.

<data folder>/
    pgdata/         PostgreSQL's own, readable by the server's user alone
    postgres.log    what the server said, this start and the ones before it
    lock            held while a server is being started
    s/              the socket, when the path is short enough for one
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from koken.embedded.account import Account
from koken.embedded.binaries import Binaries, inspect
from koken.errors import DatabaseUnreachable, DeclarationError

LOCALE = "C.UTF-8" if sys.platform == "linux" else "C"
PROCESSES = Path("/proc")
LOG_LIMIT = 8_000_000
SSL_REQUEST = bytes.fromhex("0000000804d2162f")


@dataclass(frozen=True, slots=True)
class Postmaster:
    """A server's own note of itself, from ``postmaster.pid``."""

    pid: int
    port: int
    socket_dir: Path
    ready: bool

    def alive(self) -> bool:
        """Whether a process of that number exists."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def answers(self) -> bool:
        """Whether a PostgreSQL listens there: the note outlives a server that was killed."""
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(5)
                client.connect(str(self.socket_dir / f".s.PGSQL.{self.port}"))
                client.sendall(SSL_REQUEST)
                return client.recv(1) in (b"N", b"S")
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Folder:
    """A data folder."""

    path: Path

    @property
    def data(self) -> Path:
        """What PostgreSQL calls its data directory."""
        return self.path / "pgdata"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.path / "postgres.log"

    def make(self) -> None:
        """Make the folder; what root makes, the server's user must be able to pass through."""
        missing = [path for path in (self.path, *self.path.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            if os.geteuid() == 0:
                path.chmod(0o755)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time: starting takes a moment, and two starts at once would clash."""
        try:
            lock = (self.path / "lock").open("ab")
        except PermissionError:
            raise DeclarationError(
                f"{self.path} belongs to another user: choose a data folder of your own."
            ) from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def major(self) -> int | None:
        """The major version that made the data; None while there is none."""
        try:
            return int((self.data / "PG_VERSION").read_text())
        except FileNotFoundError:
            return None

    def version(self) -> str:
        """The version of the server that was started here last."""
        program = (self.data / "postmaster.opts").read_text().split()[0]
        running = inspect(Path(program.strip('"')).parent)
        return running.version if running else str(self.major())

    def postmaster(self) -> Postmaster | None:
        """The server that runs here, or last ran and had no time to tidy up."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return None
        if len(lines) < 8:
            return None
        return Postmaster(
            pid=int(lines[0]),
            port=int(lines[3]),
            socket_dir=Path(lines[4]),
            ready=lines[7].strip() == "ready",
        )

    def forget_the_dead(self) -> None:
        """Remove the note of a killed server whose number has become another program's.

        PostgreSQL would take that program for the server and refuse to start: common in containers,
        where numbers begin again. A look at all processes' working folders tells the two apart.
        """
        if self.postmaster() and PROCESSES.is_dir() and not worked_in(self.data):
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def initialise(self, binaries: Binaries, account: Account, *, durable: bool) -> None:
        """Make the data, whole or not at all."""
        if self.major() is not None:
            return
        fresh = self.path / "pgdata.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        account.give(fresh)
        self.check_reach(fresh, account)
        done = account.run(
            *(binaries.tool("initdb"), "-D", str(fresh), "--username=postgres", "--auth=trust"),
            *("--encoding=UTF8", f"--locale={LOCALE}"),
            *([] if durable else ["--no-sync"]),
        )
        if done.returncode != 0:
            raise DatabaseUnreachable(f"initdb failed in {self.path}:\n{done.stderr.strip()}")
        fresh.rename(self.data)

    def check_reach(self, path: Path, account: Account) -> None:
        """Refuse a folder in a home that is closed to the server's user; it is not ours to open."""
        if not account.may_write(path):
            raise DeclarationError(
                f"PostgreSQL must run as the user {account.name} because you are root, and that "
                f"user can't reach {self.path}. Choose a data folder that it can reach, such as "
                f"{default_data_dir()}."
            )

    def shorten_log(self) -> int:
        """Set a long log aside; the length of what is left."""
        if not self.log.exists():
            return 0
        if self.log.stat().st_size > LOG_LIMIT:
            self.log.rename(self.log.with_suffix(".log.1"))
            return 0
        return self.log.stat().st_size

    def said(self, *, since: int) -> str:
        """The log from a position on."""
        return self.log.read_bytes()[since:].decode(errors="replace")


def worked_in(data: Path) -> bool:
    """Whether a process stands in the folder, as all of PostgreSQL's do."""
    return data.resolve() in map(standing_in, PROCESSES.glob("[0-9]*"))


def standing_in(process: Path) -> Path | None:
    """A process's working folder; None when it has just ended, or is not this user's."""
    try:
        return (process / "cwd").readlink()
    except OSError:
        return None


def default_data_dir() -> Path:
    """Where the data lies when nobody says; for root outside its home, for that is closed."""
    if os.geteuid() == 0:
        return Path("/var/lib/koken/postgres")
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "koken" / "postgres"
