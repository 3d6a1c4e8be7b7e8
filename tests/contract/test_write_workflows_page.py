"""``docs/howto/write-workflows.md``: its tables have every option and every rule."""

from __future__ import annotations

import re
from pathlib import Path

from koken.define.stepoptions import StepOptions, UndoOptions
from koken.model.steps import Join

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "write-workflows.md"


def rows(title: str) -> list[str]:
    """The names in the first column of the first table under a title."""
    section = PAGE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|.*\|$", section, flags=re.MULTILINE)


def test_table_has_every_option() -> None:
    assert rows("Steps") == list(StepOptions.__annotations__)


def test_table_has_every_rule() -> None:
    assert rows("Joins") == list(Join)


def test_options_of_an_undo() -> None:
    text = PAGE.read_text().split("`@publish.compensate` names what undoes")[1].split("\n\n")[0]
    named = re.findall(r"`(\w+)`", text)
    assert named == list(UndoOptions.__annotations__)
