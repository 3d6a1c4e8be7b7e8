"""``docs/reference/cli.md`` has every command with every option, and no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from koken.cli import program
from koken.cli.common import EVERYWHERE
from tests.cli.conftest import Koken

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text()
HEADING = re.compile(r"^### `koken ([\w-]+)(.*?)`$", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])(--?[a-z][\w-]*)")


def on_the_page() -> dict[str, set[str]]:
    """Command → its options, as the page's headings and tables have them."""
    parts = re.split(r"^#{2,3} .*$", PAGE, flags=re.MULTILINE)[1:]
    titles = re.findall(r"^#{2,3} .*$", PAGE, flags=re.MULTILINE)
    found = {}
    for title, text in zip(titles, parts, strict=True):
        if heading := HEADING.match(title):
            cells = re.findall(r"^\| (`-.*?) \|", text, flags=re.MULTILINE)
            found[heading[1]] = {option for cell in cells for option in OPTION.findall(cell)}
    return found


def in_the_program() -> dict[str, set[str]]:
    """Command → its options, as the parser has them."""
    whole: typer.core.TyperGroup = get_command(program.program_for(""))  # type: ignore[assignment]
    return {name: options_of(command) for name, command in whole.commands.items()}


def options_of(command: Any) -> set[str]:
    """The options of a command, and of those below it."""
    own = {
        option
        for parameter in command.params
        if parameter.param_type_name == "option"
        for option in parameter.opts
        if option != "--help"
    }
    return own.union(*map(options_of, getattr(command, "commands", {}).values()))


def test_commands_and_options() -> None:
    assert on_the_page() == in_the_program()


def test_order_of_themes() -> None:
    themes = list(re.findall(r"^## (.*)$", PAGE, flags=re.MULTILINE)[1:])
    assert [theme.lower() for theme in themes] == list(program.THEMES)


def test_common_options() -> None:
    section = PAGE.partition("## For all commands")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(--\w+)", section, flags=re.MULTILINE)
    assert listed == OPTION.findall(EVERYWHERE)


def test_example(terminal: Koken) -> None:
    command, answer = re.findall(r"^\$ koken (.*)\n(.*)$", PAGE, flags=re.MULTILINE)[0]
    words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", command)]
    assert terminal(*words).out == f"{answer}\n"
