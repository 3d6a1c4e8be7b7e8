"""What a decision says that nothing does, nothing does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORE = ROOT / "src" / "koken" / "store"
PAGE = ROOT / "docs" / "decisions" / "0015-runs-made-of-runs.md"
COMMENT = re.compile(r"--.*")
FUNCTION = re.compile(r"^create function koken\.(\w+)", re.MULTILINE)
BORN = re.compile(r"insert into koken\.run\s*\(([^)]*)\)")


def written(column: str, text: str) -> bool:
    """Whether some SQL sets a column of a run, or brings runs into being with it."""
    assigned = re.search(rf"(?:,|\bset)\s+{column}\s*=", text)
    return bool(assigned) or any(column in names.split(", ") for names in born(text))


def born(text: str) -> list[str]:
    """The columns with which runs come into being, each list on one line."""
    return [" ".join(names.split()) for names in BORN.findall(text)]


def pieces() -> dict[str, str]:
    """All SQL of the store: functions by their names, statements by theirs."""
    found = {}
    for migration in sorted((STORE / "migrations").glob("*.sql")):
        text = COMMENT.sub("", migration.read_text(encoding="utf-8"))
        _, *parts = FUNCTION.split(text)
        found |= dict(zip(parts[::2], parts[1::2], strict=True))
    for statement in (STORE / "sql").glob("*.sql"):
        text = COMMENT.sub("", statement.read_text(encoding="utf-8"))
        found[f"{statement.stem}.sql"] = text
    return found


@pytest.mark.parametrize("column", ["open_needs", "open_children"])
def test_who_writes_the_counters(column: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    listed = re.search(rf"^- `{column}`:(.*?)(?=^- |^$)", page, re.MULTILINE | re.DOTALL)
    assert listed
    writers = {name for name, text in pieces().items() if written(column, text)}
    assert set(re.findall(r"`([\w.]+)`", listed[1])) == writers
