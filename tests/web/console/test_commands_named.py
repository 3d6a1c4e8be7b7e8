"""Commands that pages tell people to type exist, with the options that they are told with."""

from __future__ import annotations

import html
import re
from pathlib import Path

import click
import pytest
from typer.main import get_command

from koken.cli.common import hoist
from koken.cli.program import program_for
from koken.web.console import pages

TOLD = re.compile(r"<(code|pre)>(koken [^<]+)</\1>")
THERE = "{{ there(visit) }}"
CALLED = re.compile(r"\{\{.*?\}\}|\{%.*?%\}")


def commands() -> list[str]:
    """All that templates name."""
    return sorted(
        {
            html.unescape(CALLED.sub("X", found[2].replace(THERE, " --workspace X"))).strip()
            for file in sorted(pages.TEMPLATES.glob("*.html"))
            for found in TOLD.finditer(Path(file).read_text())
        }
    )


@pytest.mark.parametrize("line", commands())
def test_a_command_that_a_page_names_exists(line: str) -> None:
    words = re.findall(r'"[^"]*"|\S+', line)[1:]
    words = hoist(words)[1]
    program = get_command(program_for(words[0]))
    assert isinstance(program, click.Group) or hasattr(program, "commands")
    command = program.commands[words.pop(0)]
    while words and hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    options = {name for each in command.params for name in each.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_pages_name_commands() -> None:
    assert "koken worker --queue X:4" in commands()
