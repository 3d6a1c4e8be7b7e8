"""The entry: errors are a line on stderr, each class with its exit code."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from koken.cli import program
from koken.cli.main import TRACEBACK
from koken.errors import Refused
from tests.cli.conftest import Koken


def test_no_command_lists_them_all(terminal: Koken) -> None:
    said = terminal()
    assert said.code == 0
    for names in program.modules().values():
        for name in names:
            assert f" {name} " in said.out
    assert "--app module:name" in said.out


def test_each_module_has_the_commands_that_are_told_of_it() -> None:
    for module, names in program.modules().items():
        assert list(program.commands(module)) == list(names)


def test_version(terminal: Koken) -> None:
    assert terminal("--version").out == f"koken {version('koken')}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nxet"], "No such command 'nxet'. Did you mean 'next'? (see koken --help)"),
        (["next"], "Missing argument 'EXPRESSION' (see koken next --help)"),
        (["runs", "--nope"], "No such option: --nope (see koken runs --help)"),
        (["runs", "--app"], "--app wants a value: --app NAME"),
        (
            ["runs"],
            (
                "no database: set KOKEN_DATABASE_URL, or database_url in koken.toml. "
                "For a private one, run `koken dev` in this folder"
            ),
        ),
        (["worker"], "no app: give --app module:name, set KOKEN_APP, or app in koken.toml"),
        (["dev"], "no app: give --app module:name, set KOKEN_APP, or app in koken.toml"),
        (["migrate", "--check", "--sql"], "give --check or --sql, not both"),
    ],
)
def test_bad_usage(
    terminal: Koken, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.setattr("koken.cli.stopping.STOP.listen", lambda: None)
    said = terminal(*words)
    assert (said.code, said.out, said.err) == (2, "", f"koken: {message}\n")


@pytest.mark.parametrize("command", ["runs", "jobs", "doctor", "migrate"])
def test_database_that_does_not_answer(
    terminal: Koken, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("KOKEN_DATABASE_URL", "postgresql://postgres@127.0.0.1:1/x")
    said = terminal(command)
    assert said.code == 5
    assert "PostgreSQL does not answer" in said.err + said.out
    assert "Traceback" not in said.err


def test_an_address_that_is_none(terminal: Koken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOKEN_DATABASE_URL", "mysql://anna:secret@db/x")
    said = terminal("runs")
    assert said.code == 2
    assert said.err == (
        "koken: database_url 'mysql://anna:…@db/x' is no address; it begins with postgresql://\n"
    )


def test_tables_that_are_not_there(
    terminal: Koken, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKEN_DATABASE_URL", empty_database_url)
    monkeypatch.setenv("KOKEN_APP", "shop:app")
    for words in (["runs"], ["run", "greet"], ["show", "1"], ["queues"], ["worker"]):
        said = terminal(*words)
        assert said.code == 4, words
        assert "run `koken migrate`" in said.err


def test_a_database_and_a_role_that_are_not_there(
    terminal: Koken, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = empty_database_url.rpartition("/")[0]
    monkeypatch.setenv("KOKEN_DATABASE_URL", f"{server}/nodb")
    said = terminal("runs")
    assert (said.code, said.err) == (
        5,
        'koken: PostgreSQL has no database "nodb"; createdb nodb\n',
    )
    monkeypatch.setenv("KOKEN_DATABASE_URL", empty_database_url.replace("postgres@", "nobody@"))
    said = terminal("runs")
    assert said.code == 5
    assert said.err.startswith("koken: PostgreSQL lets nobody in by this address: ")
    assert 'role "nobody" does not exist' in said.err


def test_what_nobody_foresaw(terminal: Koken, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(program, "carry_out", fail)
    said = terminal("runs")
    assert said.code == 1
    assert said.err.startswith(f"koken: ZeroDivisionError: a bug ({__file__}:")
    assert said.err.count("\n") == 1
    monkeypatch.setenv(TRACEBACK, "1")
    assert "Traceback (most recent call last)" in terminal("runs").err


def test_a_message_of_several_lines_is_one(
    terminal: Koken, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise Refused("first\n  second")

    monkeypatch.setattr(program, "carry_out", fail)
    assert terminal("runs").err == "koken: first second\n"


def test_interrupted(terminal: Koken, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "carry_out", interrupt)
    assert terminal("runs").code == 130


def test_settings_files_count(terminal: Koken, folder: Path, database_url: str) -> None:
    (folder / "koken.toml").write_text(f'database_url = "{database_url}"\n')
    assert terminal("runs").out == "No runs yet. `koken run JOB` starts one.\n"


@pytest.mark.parametrize(
    "words", [["show", "\udcff"], ["run", "greet", "name=\udcff"], ["--by", "a\0", "runs"]]
)
def test_words_that_are_no_text(terminal: Koken, words: list[str]) -> None:
    """Bytes of a command line that are no UTF-8."""
    said = terminal(*words)
    assert said.code == 2
    assert said.err.endswith(" is no text in UTF-8; nothing was done\n")
    assert said.err.isascii()
