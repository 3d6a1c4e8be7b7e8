"""The pytest plugin: the fixture ``koken_client``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from koken.app import App, load_app
from koken.config import load
from koken.testing.client import TestClient


@pytest.fixture
def koken_client(request: pytest.FixtureRequest) -> Iterator[TestClient]:
    """A ``TestClient`` for this test.

    Its app is what the fixture ``app`` gives, else the one that ``KOKEN_APP`` or the setting
    ``app`` of ``koken.toml`` names.
    """
    with TestClient(app_for(request)) as client:
        yield client


def app_for(request: pytest.FixtureRequest) -> App:
    """The app under test."""
    try:
        given = request.getfixturevalue("app")
    except pytest.FixtureLookupError as error:
        if error.argname != "app":
            raise
        given = None
    if isinstance(given, App):
        return given
    address = load().app
    if not address:
        raise pytest.UsageError(
            "koken_client finds no app: write a fixture app() that returns your koken.App, or set "
            "KOKEN_APP, or app in koken.toml"
        )
    return load_app(address)
