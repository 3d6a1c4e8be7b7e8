from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

APP = """
from __future__ import annotations

import koken

app = koken.App("shop")


@app.job
def send(order: int) -> int:
    return order
"""
TEST = """
from __future__ import annotations

from jobs import send
from koken.testing import TestClient


def test_sends(koken_client: TestClient) -> None:
    assert koken_client.run(send, 7).result == 7


def test_has_its_own_database(koken_client: TestClient) -> None:
    assert koken_client.find() == []
"""
FIXTURE = """
import pytest
import jobs


@pytest.fixture
def app():
    return {given}
"""
EXPECTED = {"passed": 2}


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one job and two tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("KOKEN_APP", raising=False)
    pytester.makepyfile(jobs=APP, test_jobs=TEST)
    return pytester


def outcomes(project: pytest.Pytester) -> dict[str, int]:
    result = project.runpytest_subprocess("-p", "koken.testing.plugin", "-W", "error")
    return result.parseoutcomes()


def test_app_comes_from_a_fixture(project: pytest.Pytester) -> None:
    project.makeconftest(FIXTURE.format(given="jobs.app"))
    assert outcomes(project) == EXPECTED


def test_app_comes_from_the_settings(project: pytest.Pytester) -> None:
    project.makefile(".toml", koken='app = "jobs:app"')
    project.makeconftest(FIXTURE.format(given="'some other kind of app'"))
    assert outcomes(project) == EXPECTED


def test_app_comes_from_the_environment(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOKEN_APP", "jobs")
    assert outcomes(project) == EXPECTED


def test_no_app_is_told(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess("-p", "koken.testing.plugin")
    assert result.parseoutcomes() == {"errors": 2}
    result.stdout.fnmatch_lines(["*koken_client finds no app: write a fixture app()*"])


def test_plugin_is_declared() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"koken": "koken.testing.plugin"}
