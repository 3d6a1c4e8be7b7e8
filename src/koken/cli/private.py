"""The private server of ``koken dev``: its data lies in ``.koken/postgres`` below a folder.

The commands that are given in the same folder find it there. PostgreSQL does not run as root; where
the user that it runs as cannot reach the folder, the data lies in ``/var/lib/koken`` and
``.koken/postgres`` is a link to it.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from koken.embedded.account import account_for
from koken.embedded.boot import free_port
from koken.embedded.folder import Folder, default_data_dir
from koken.embedded.server import Server, joinable

DATA = Path(".koken") / "postgres"


def data_folder() -> Path:
    """Where this folder's private data lies, or is linked to."""
    return Path.cwd() / DATA


def exists() -> bool:
    """Whether a ``koken dev`` has run here."""
    return data_folder().is_dir()


def running_url() -> str:
    """The address of the private server that runs here; empty when none does."""
    with suppress(OSError):
        if exists() and (found := joinable(Folder(data_folder().resolve()))):
            return url(found.port)
    return ""


def url(port: int) -> str:
    """The address of a private server."""
    return f"postgresql://postgres@127.0.0.1:{port}/postgres"


def planned_url() -> str:
    """The address that the server has, or will have once it is started."""
    return running_url() or url(free_port())


def start(planned: str) -> Server:
    """Start the server under the address that was planned, or join the one that runs here."""
    prepare()
    port = planned.rpartition(":")[2].partition("/")[0]
    return Server.start(data_folder().resolve(), settings={"port": port})


def prepare() -> None:
    """Make the folder, out of reach of version control and within reach of the server's user."""
    home = data_folder().parent
    home.mkdir(exist_ok=True)
    ignore = home / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    account = account_for(data_folder().resolve() / "pgdata")
    if account.other and not exists():
        home.chmod(0o755)
        reached = account.run("/bin/sh", "-c", 'test -x "$1"', "sh", str(home)).returncode == 0
        if not reached:
            data_folder().symlink_to(elsewhere())


def elsewhere() -> Path:
    """A data folder for this folder that the server's user can reach."""
    name = hashlib.sha256(os.fsencode(Path.cwd())).hexdigest()[:12]
    found = default_data_dir().with_name(f"dev-{Path.cwd().name}-{name}")
    Folder(found).make()
    return found
