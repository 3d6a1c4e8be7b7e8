"""The operating-system user under which PostgreSQL runs: it refuses to run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from koken.errors import DeclarationError

# nobody first: a development server trusts every local connection, and what its superuser can do
# through SQL it does as this user, who should own as little as possible.
UNPRIVILEGED = ("nobody", "postgres", "koken")


@dataclass(frozen=True, slots=True)
class Account:
    """Who runs the server; ``uid`` and ``gid`` are None where that is who runs this program."""

    name: str
    uid: int | None = None
    gid: int | None = None

    @property
    def other(self) -> bool:
        """Whether this is another user than the one who runs this program."""
        return self.uid is not None

    @property
    def groups(self) -> list[int] | None:
        """No further groups for another user; this program's own otherwise."""
        return [] if self.other else None

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program as this user, to its end."""
        return subprocess.run(
            command,
            user=self.uid,
            group=self.gid,
            extra_groups=self.groups,
            cwd="/",
            env=plain_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def give(self, path: Path) -> None:
        """Make this user the owner."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def may_write(self, path: Path) -> bool:
        """Whether this user reaches the folder, parents included, and may write in it."""
        asked = self.run("/bin/sh", "-c", 'test -w "$1" && test -x "$1"', "sh", str(path))
        return asked.returncode == 0


def account_for(data: Path) -> Account:
    """Whoever owns the data; for new data this user, or an unprivileged one instead of root."""
    me = os.geteuid()
    owner = data.stat().st_uid if data.exists() else None
    if me != 0:
        if owner not in (None, me):
            raise DeclarationError(
                f"{data} belongs to the user {name_of(owner)}: run as that user, "
                "or choose another data folder."
            )
        return Account(name_of(me))
    if owner == 0:
        raise DeclarationError(
            f"{data} belongs to root, as whom PostgreSQL does not run: give it to another user "
            f"(chown -R {UNPRIVILEGED[0]} {data}), or choose another data folder."
        )
    entry = unprivileged() if owner is None else pwd.getpwuid(owner)
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def unprivileged() -> pwd.struct_passwd:
    """A user without rights, made when the machine has none."""
    for name in UNPRIVILEGED:
        if entry := lookup(name):
            return entry
    make = ["useradd", "--system", "--no-create-home", "--shell", "/bin/false", UNPRIVILEGED[-1]]
    if shutil.which(make[0]):
        subprocess.run(make, check=False, capture_output=True)
    if entry := lookup(UNPRIVILEGED[-1]):
        return entry
    raise DeclarationError(
        "PostgreSQL does not run as root, and this machine has no unprivileged user for it: "
        f"make one named {' or '.join(UNPRIVILEGED)}, or do not run as root."
    )


def lookup(name: str) -> pwd.struct_passwd | None:
    """The user of this name."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def name_of(uid: int | None) -> str:
    """A user's name, or its number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name if uid is not None else "?"
    except KeyError:
        return str(uid)


def plain_environment() -> dict[str, str]:
    """Messages in one language, for some of them are read here."""
    return {**os.environ, "LC_ALL": "C"}
