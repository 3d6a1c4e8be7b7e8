"""A house for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.house import House, open_house


@pytest_asyncio.fixture
async def house(database_url: str) -> AsyncIterator[House]:
    """The engine on a fresh database, at noon."""
    async with open_house(database_url) as made:
        yield made
