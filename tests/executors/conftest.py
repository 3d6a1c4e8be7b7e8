"""Fixtures of the executors' tests."""

from __future__ import annotations

import pytest

from tests.executors.hosts import FakeHost


@pytest.fixture
async def host() -> FakeHost:
    """A host that remembers."""
    return FakeHost()
