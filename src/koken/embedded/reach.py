"""Programs in a private home are out of another user's reach: give that user a copy.

Nobody's folder is opened for it: a virtual environment under root's home stays as it is.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from koken.embedded.account import Account
from koken.embedded.binaries import Binaries
from koken.errors import DeclarationError

SHARED = Path("/var/lib/koken")


def within_reach(binaries: Binaries, account: Account) -> Binaries:
    """The same programs, where the account can run them."""
    if runs(binaries, account):
        return binaries
    copied = replace(binaries, directory=shared_copy(binaries))
    if runs(copied, account):
        return copied
    raise DeclarationError(
        f"The user {account.name}, as whom PostgreSQL must run because you are root, can't run the "
        f"programs in {binaries.directory}, nor a copy of them in {copied.directory}."
    )


def runs(binaries: Binaries, account: Account) -> bool:
    """Whether this account can start these programs; whoever found them has tried it for itself."""
    if not account.other:
        return True
    try:
        return account.run(binaries.tool("postgres"), "--version").returncode == 0
    except PermissionError:
        return False


def shared_copy(binaries: Binaries) -> Path:
    """A copy of the whole installation in a folder for all, made once for each content."""
    content = hashlib.sha256(Path(binaries.tool("postgres")).read_bytes()).hexdigest()[:12]
    target = SHARED / f"postgres-{binaries.version}-{content}"
    if not target.exists():
        make_public(SHARED)
        fresh = Path(tempfile.mkdtemp(prefix=".copy-", dir=SHARED))
        copy_installation(binaries.directory.parent, fresh)
        try:
            fresh.rename(target)
        except OSError:  # another process was first, with the same content
            shutil.rmtree(fresh)
    return target / binaries.directory.relative_to(base_of(binaries.directory.parent))


def base_of(prefix: Path) -> Path:
    """The folder above which nothing belongs to the installation.

    A wheel keeps its shared libraries beside its package, two floors above the programs.
    """
    return prefix.parent.parent if libraries_beside(prefix) else prefix.parent


def libraries_beside(prefix: Path) -> Path | None:
    """The wheel's folder of shared libraries, when the programs come from a wheel."""
    beside = prefix.parent.with_name(f"{prefix.parent.name}.libs")
    return beside if beside.is_dir() else None


def copy_installation(prefix: Path, target: Path) -> None:
    """Copy programs, libraries and shared files, readable for all."""
    base = base_of(prefix)
    for part in filter(None, (prefix, libraries_beside(prefix))):
        shutil.copytree(part, target / part.relative_to(base), symlinks=True)
    make_public(target)
    for path in target.rglob("*"):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if mode & 0o100 else 0o444))


def make_public(folder: Path) -> None:
    """Make a folder of ours that everybody may look into, whatever the umask."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
