"""The page about testing: its examples run, and it names all that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import koken.testing
from koken import Client
from koken.testing import TestClient

pytest_plugins = ["pytester"]
PAGE = Path(__file__).parents[2] / "docs/howto/test-your-jobs.md"


def test_examples_run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        name = re.match(r"# (\S+)\n", block)
        assert name is not None
        path = pytester.path / name[1]
        path.parent.mkdir(exist_ok=True)
        path.write_text(block)
    (pytester.path / "shop" / "__init__.py").touch()
    options = ("-p", "koken.testing.plugin", "-W", "error", "-o", "pythonpath=.")
    result = pytester.runpytest_subprocess(*options)
    assert result.parseoutcomes() == {"passed": 14}


def test_public_names() -> None:
    assert koken.testing.__all__ == ["TestClient", "call"]


def test_page_names_every_verb_of_its_own() -> None:
    own = {name for name in vars(TestClient) if name[0].isalpha()} - set(vars(Client))
    text = PAGE.read_text()
    assert {name for name in own if not re.search(rf"client\.{name}\b", text)} == set()
