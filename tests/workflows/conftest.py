from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

import koken
from koken.testing import TestClient

Hire = Callable[[koken.App], TestClient]


@pytest.fixture(autouse=True)
def same_server(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The databases are made on the server of the session."""
    monkeypatch.setenv("KOKEN_TEST_DATABASE_URL", postgres_url)


@pytest.fixture
def client_of() -> Iterator[Hire]:
    """Makes test clients, and closes them in the end."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(TestClient(app))
