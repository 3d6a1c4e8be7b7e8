"""Starting a server on a data folder: a free port, a short socket path, and patience."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import socket
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from koken.embedded.account import Account
from koken.embedded.binaries import Binaries
from koken.embedded.folder import Folder, Postmaster
from koken.embedded.guardian import Guarded
from koken.errors import DatabaseUnreachable, DeclarationError

# Below every system's range for outgoing connections: such a connection could take the port while
# the server restarts, even one that tries to reach the server.
PORTS = range(20_000, 30_000)
SOCKET_DIR_LIMIT = 80  # the whole path may have about 104 bytes

# After a crash its last processes hold the data for a moment; a port can be taken under our hands.
PASSING = (
    "could not create any TCP/IP sockets",
    "pre-existing shared memory block",
    'lock file "postmaster.pid" already exists',
)
GLANCE = 0.02
BUSY_PATIENCE = 20.0
START_PATIENCE = 120.0
STOP_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Boot:
    """All that a start needs, and a restart again."""

    folder: Folder
    binaries: Binaries
    account: Account
    settings: Mapping[str, str]

    @property
    def durable(self) -> bool:
        """Whether what is committed survives a crash of the machine."""
        return self.settings.get("fsync", "on") == "on"

    def run(self, port: int | None = None) -> tuple[Guarded, Postmaster]:
        """Start the server, on this port or a free one, and wait until it answers."""
        if not self.account.other:
            self.folder.forget_the_dead()
        deadline = time.monotonic() + BUSY_PATIENCE
        while True:
            said_before = self.folder.shorten_log()
            child = self.launch(port or free_port())
            if postmaster := self.ready(child):
                return child, postmaster
            child.stop(signal.SIGINT, STOP_PATIENCE)
            said = self.folder.said(since=said_before)
            if time.monotonic() > deadline or not any(reason in said for reason in PASSING):
                raise DatabaseUnreachable(
                    f"PostgreSQL {self.binaries.version} did not start in {self.folder.path}; "
                    f"it said (more in {self.folder.log}):\n{said[-2000:].strip()}"
                )
            time.sleep(GLANCE)

    def launch(self, port: int) -> Guarded:
        """Start the process."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.socket_dir()),
            "port": str(port),
            **self.settings,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return Guarded(
            [self.binaries.tool("postgres"), "-D", str(self.folder.data), *options],
            account=self.account,
            log=self.folder.log,
            pid_file=self.folder.data / "postmaster.pid",
        )

    def ready(self, child: Guarded) -> Postmaster | None:
        """The server's note once it answers; None when it ends first, or not in time."""
        deadline = time.monotonic() + START_PATIENCE
        while not child.ended and time.monotonic() < deadline:
            note = self.folder.postmaster()
            if note and note.pid == child.pid and note.ready and note.answers():
                return note
            time.sleep(GLANCE)
        return None

    def socket_dir(self) -> Path:
        """The socket's folder: in the data folder, or one with a short name of its own."""
        directory = self.folder.path / "s"
        if len(os.fsencode(directory)) > SOCKET_DIR_LIMIT:
            name = hashlib.sha256(os.fsencode(self.folder.path)).hexdigest()[:12]
            directory = Path("/tmp", f"koken-{os.geteuid()}-{name}")  # short everywhere
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.geteuid(), self.account.uid):
            raise DeclarationError(
                f"{directory}, where PostgreSQL's socket should be, belongs to somebody else."
            )
        self.account.give(directory)
        return directory


def free_port() -> int:
    """A port on the loopback address that nobody listens on at the moment."""
    for port in random.sample(PORTS, 200):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise DatabaseUnreachable(f"No free port between {PORTS.start} and {PORTS.stop}.")
