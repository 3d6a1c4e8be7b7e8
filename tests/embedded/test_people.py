"""Whose server it is: root's runs as somebody else, and nobody's folder is opened for that."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psycopg
import pytest

from koken.embedded import account, reach
from koken.embedded.account import account_for
from koken.embedded.binaries import Binaries, find
from koken.embedded.folder import LOG_LIMIT, Folder, default_data_dir
from koken.embedded.server import Server
from koken.errors import DeclarationError
from tests.support.postgres import scratch_directory

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="root alone is somebody else's user")


@as_root
def test_roots_server_runs_as_a_user_without_rights(data_dir: Path, binaries: Binaries) -> None:
    with Server.start(data_dir, binaries=binaries.directory) as server:
        assert Path(f"/proc/{server.pid}").stat().st_uid == account_for(Path("/none")).uid != 0
        status = Path(f"/proc/{server.pid}/status").read_text()
    assert "Groups:\t \n" in status


@as_root
def test_the_owner_of_the_data_goes_on_with_them(data_dir: Path) -> None:
    with Server.start(data_dir):
        pass
    for path in (data_dir / "pgdata", *(data_dir / "pgdata").rglob("*"), data_dir / "s"):
        os.chown(path, 1, 1)
    with Server.start(data_dir) as server:
        assert Path(f"/proc/{server.pid}").stat().st_uid == 1


@as_root
def test_data_in_a_closed_home_are_refused_and_the_home_stays_closed(data_dir: Path) -> None:
    home = data_dir / "home"
    home.mkdir(parents=True)
    home.chmod(0o700)
    with pytest.raises(DeclarationError, match=str(default_data_dir())):
        Server.start(home / "data")
    assert home.stat().st_mode & 0o777 == 0o700


@as_root
def test_programs_in_a_closed_home_are_copied(
    monkeypatch: pytest.MonkeyPatch, data_dir: Path, binaries: Binaries
) -> None:
    with scratch_directory() as shared, scratch_directory() as home:
        monkeypatch.setattr(reach, "SHARED", shared)
        base = reach.base_of(binaries.directory.parent)
        reach.copy_installation(binaries.directory.parent, home)
        home.chmod(0o700)
        closed = home / binaries.directory.relative_to(base)
        for _ in range(2):
            with Server.start(data_dir, binaries=closed) as server:
                psycopg.connect(server.url).close()
        assert home.stat().st_mode & 0o777 == 0o700
        assert [copy.name.split("-")[:2] for copy in shared.iterdir()] == [
            ["postgres", binaries.version]
        ]


@as_root
def test_data_of_root_itself_are_refused(data_dir: Path) -> None:
    (data_dir / "pgdata").mkdir(parents=True)
    with pytest.raises(DeclarationError, match="belongs to root"):
        Server.start(data_dir)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do anything")
def test_data_of_another_user_are_refused() -> None:
    with pytest.raises(DeclarationError, match="belongs to the user root"):
        account_for(Path("/etc"))


@as_root
def test_a_machine_without_any_such_user_gets_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "UNPRIVILEGED", ("no-such-user",))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(DeclarationError, match="no-such-user"):
        account_for(Path("/none"))


def test_data_lie_with_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_data_dir() == tmp_path / "koken" / "postgres"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_data_dir() == tmp_path / ".local" / "share" / "koken" / "postgres"


def test_a_long_log_is_set_aside(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert folder.shorten_log() == 0
    folder.log.write_text("short")
    assert folder.shorten_log() == 5
    folder.log.write_bytes(b"x" * (LOG_LIMIT + 1))
    assert folder.shorten_log() == 0
    assert (tmp_path / "postgres.log.1").stat().st_size == LOG_LIMIT + 1


def test_programs_within_reach_stay_where_they_are() -> None:
    me = account.Account("me")
    assert reach.within_reach(find(), me) == find()
