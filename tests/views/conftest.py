"""A house for each test, and somebody who reads in it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from koken.store.database import Database
from tests.support.house import House, open_house


@pytest_asyncio.fixture
async def house(database_url: str) -> AsyncIterator[House]:
    """The engine on a fresh database, at noon."""
    async with open_house(database_url) as made:
        yield made


@pytest_asyncio.fixture
async def views(house: House) -> AsyncIterator[Database]:
    """Connections for reading."""
    db = Database(house.db.url, planner="default", size=1)
    yield db
    await db.close()
