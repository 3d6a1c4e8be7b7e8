"""A cluster for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.cluster.cluster import Cluster

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder are marked."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest_asyncio.fixture
async def cluster(database_url: str) -> AsyncIterator[Cluster]:
    """A cluster without workers, on a fresh database."""
    async with Cluster.at(database_url) as made:
        yield made
