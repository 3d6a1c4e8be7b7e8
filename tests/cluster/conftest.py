"""A cluster for each test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from koken.embedded.server import Server
from koken.store.migrate import migrate
from tests.cluster.cluster import Cluster
from tests.support.postgres import scratch_directory

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


@pytest_asyncio.fixture
async def own_server() -> AsyncIterator[Server]:
    """A server that the test may stop, restart and crash; what is committed survives."""
    with scratch_directory() as folder:
        server = await asyncio.to_thread(
            Server.start, folder, settings={"synchronous_commit": "on", "fsync": "off"}
        )
        try:
            await migrate(server.url)
            yield server
        finally:
            await asyncio.to_thread(server.stop, "immediate")
