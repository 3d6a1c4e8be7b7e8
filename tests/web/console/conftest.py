from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from koken.app import App
from koken.model.web import Web
from koken.web.house import House
from tests.web.console import mill


@pytest.fixture
def trouble() -> set[str]:
    """What fails in the mill."""
    return {"load"}


@pytest.fixture
async def mill_app(shop: App, trouble: set[str]) -> AsyncIterator[App]:
    """The mill, on this test's database, with a worker at work."""
    app = mill.make(trouble)
    async with mill.working(app):
        yield app


@pytest.fixture
async def mill_house(
    mill_app: App, open_house: Callable[..., Any]
) -> tuple[House, httpx.AsyncClient]:
    """The doors of the mill."""
    house, http = await open_house(program=mill_app, web=Web())
    return house, http
