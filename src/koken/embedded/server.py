"""A private PostgreSQL for development and tests, started here and gone with this process.

    with Server.start() as server:
        connect(server.url)

Never for data that matters: whoever can connect to this machine's loopback address is its
superuser, without a password.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from koken.embedded.account import account_for
from koken.embedded.binaries import find
from koken.embedded.boot import GLANCE, STOP_PATIENCE, Boot
from koken.embedded.folder import Folder, Postmaster, default_data_dir
from koken.embedded.guardian import Guarded
from koken.embedded.reach import within_reach
from koken.errors import Refused

Mode = Literal["smart", "fast", "immediate"]

SIGNALS: Mapping[Mode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}


class Server:
    """A running PostgreSQL: this process's own, or another's that it shares.

    The process that started the server stops it: by :meth:`stop`, at the end of a ``with`` block,
    or by ending in any way. For all others ``stop`` only means that they are done with it.
    """

    def __init__(
        self,
        folder: Folder,
        postmaster: Postmaster,
        *,
        version: str,
        boot: Boot | None = None,
        child: Guarded | None = None,
    ) -> None:
        self.folder = folder
        self.postmaster = postmaster
        self.version = version
        self.boot = boot
        self.child = child
        self.home = os.getpid()

    @classmethod
    def start(
        cls,
        data_dir: Path | None = None,
        *,
        binaries: Path | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> Self:
        """Start the server of a data folder, or join the one that runs there.

        The folder is made if need be. ``binaries`` is a folder of PostgreSQL's programs (how they
        are found without it: :mod:`koken.embedded.binaries`). ``settings`` are PostgreSQL's own,
        by name; they count for a server that this call starts. What is committed survives a crash
        unless they say otherwise (``fsync=off``).
        """
        folder = Folder((data_dir or default_data_dir()).absolute())
        folder.make()
        account = account_for(folder.data)
        with folder.locked():
            if running := joinable(folder):
                return cls(folder, running, version=folder.version())
            found = within_reach(find(binaries, major=folder.major()), account)
            boot = Boot(folder, found, account, dict(settings or {}))
            folder.initialise(found, account, durable=boot.durable)
            child, postmaster = boot.run()
            return cls(folder, postmaster, version=found.version, boot=boot, child=child)

    @property
    def url(self) -> str:
        """Where to connect, as the superuser."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def port(self) -> int:
        """The TCP port on 127.0.0.1; a restart keeps it."""
        return self.postmaster.port

    @property
    def socket_dir(self) -> Path:
        """The folder of the Unix socket, open to the server's user and to root."""
        return self.postmaster.socket_dir

    @property
    def pid(self) -> int:
        """The number of the server's first process."""
        return self.postmaster.pid

    @property
    def owned(self) -> bool:
        """Whether this process started the server, and so is the one to stop it."""
        return self.child is not None and self.home == os.getpid()

    def stop(self, mode: Mode = "fast") -> None:
        """Stop the server and return when it has ended; nothing for one that is only shared.

        Twice is fine. ``smart`` waits for the clients to leave, ``fast`` sends them away,
        ``immediate`` is a crash from which the next start recovers.
        """
        if self.owned and self.child is not None:
            self.child.stop(SIGNALS[mode], STOP_PATIENCE)

    def restart(self, mode: Mode = "fast") -> None:
        """Stop the server, if it still runs, and start it again on the same port."""
        if self.boot is None or not self.owned:
            raise Refused(
                f"The PostgreSQL in {self.folder.path} was started by another process, "
                "which alone restarts it."
            )
        self.stop(mode)
        with self.folder.locked():
            self.child, self.postmaster = self.boot.run(self.port)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        role = "own" if self.owned else "shared"
        return f"<Server {self.version} at {self.url}, {role}, data in {self.folder.path}>"


def joinable(folder: Folder) -> Postmaster | None:
    """The server that runs on this folder, once it is ready; None when it has left."""
    deadline = time.monotonic() + STOP_PATIENCE
    while (note := folder.postmaster()) and note.alive() and time.monotonic() < deadline:
        if note.ready:
            return note if note.answers() else None
        time.sleep(GLANCE)
    return None
