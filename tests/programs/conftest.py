from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def same_server(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The databases are made on the server of the session."""
    monkeypatch.setenv("KOKEN_TEST_DATABASE_URL", postgres_url)
