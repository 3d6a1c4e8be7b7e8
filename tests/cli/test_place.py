"""Where a command works: which address counts, and an app that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from koken.cli import private
from koken.cli.common import Common
from koken.cli.place import hidden, place
from tests.cli.conftest import Koken

BAD_SCHEDULE = """import koken
app = koken.App('x')

@app.job(schedule='evry day')
def greet() -> None: ...
"""


def test_an_app_brings_its_settings(koken: Koken, folder: Path, database_url: str) -> None:
    (folder / "own.py").write_text("import koken\napp = koken.App('own', workspace='acme')\n")
    found = place(Common(app="own:app"))
    assert (found.config.workspace, found.config.database_url) == ("acme", database_url)
    assert found.app is not None


def test_an_app_that_cannot_be_read_is_passed_over(koken: Koken, folder: Path) -> None:
    (folder / "torn.py").write_text("import koken\n\nraise RuntimeError('half saved')\n")
    said = koken("runs", "--app", "torn:app")
    assert (said.code, said.out) == (0, "No runs yet. `koken run JOB` starts one.\n")
    told = f"RuntimeError: half saved ({folder / 'torn.py'}:3)"
    assert said.err == (f"koken: going on without the app: app 'torn:app' cannot be read: {told}\n")


def test_commands_that_need_the_app_say_why_it_cannot_be_read(
    terminal: Koken, folder: Path
) -> None:
    (folder / "torn.py").write_text("import nowhere_to_be_found\n")
    said = terminal("runs", "--app", "torn:app")
    assert said.code == 2
    assert said.err == (
        "koken: app 'torn:app' cannot be read: ModuleNotFoundError: No module named "
        f"'nowhere_to_be_found' ({folder / 'torn.py'}:1)\n"
    )


@pytest.mark.parametrize(
    ("program", "line", "told"),
    [
        ("def torn(:\n    pass\n", 1, "cannot be read: SyntaxError: invalid syntax"),
        (BAD_SCHEDULE, 4, "evry day"),
    ],
)
def test_errors_point_into_the_program(
    terminal: Koken, folder: Path, program: str, line: int, told: str
) -> None:
    (folder / "torn.py").write_text(program)
    said = terminal("runs", "--app", "torn:app")
    assert said.code == 2
    assert told in said.err
    assert said.err.endswith(f"({folder / 'torn.py'}:{line})\n")
    assert said.err.count("torn.py") == 1
    assert "src/koken" not in said.err


def test_nothing_private_here(folder: Path) -> None:
    assert private.running_url() == ""
    assert not private.exists()


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("mysql://anna:secret@db/x", "mysql://anna:…@db/x"),
        ("localhost:5432", "localhost:5432"),
        ("anna@db", "anna@db"),
    ],
)
def test_no_password_is_shown(url: str, text: str) -> None:
    assert hidden(url) == text
