"""``docs/howto/declare-jobs.md``: its examples run, and its table has every option."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from koken.define.options import JobOptions

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "declare-jobs.md"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's examples as one module."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    path = tmp_path / "declare_jobs.py"
    path.write_text("\n".join(blocks[:-1]))
    spec = importlib.util.spec_from_file_location("declare_jobs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "declare_jobs", module)
    spec.loader.exec_module(module)
    return module


def test_examples_run(program: ModuleType) -> None:
    names = [job.name for job in program.app.registry]
    assert names == ["delay_report", "mail_all", "fixed", "doubled", "chosen"]
    assert program.delay_report.spec.schedules[0].zone == "America/New_York"
    assert program.later.options.delay == 600.0


def test_table_has_every_option() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\|.*\|$", PAGE.read_text(), flags=re.MULTILINE)
    assert rows == list(JobOptions.__annotations__)
