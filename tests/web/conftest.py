"""The doors on a database of their own, asked without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import httpx
import pytest

from koken.app import App
from koken.config import load
from koken.model.web import Web
from koken.runtime.worker import Worker
from koken.web.application import application
from koken.web.house import House
from tests.web.described import as_described, describe
from tests.web.shop import make

ADDRESS = "http://127.0.0.1:7070"


@pytest.fixture
def shop(database_url: str, monkeypatch: pytest.MonkeyPatch) -> App:
    """The program, on this test's database."""
    monkeypatch.setenv("KOKEN_DATABASE_URL", database_url)
    return make()


@pytest.fixture
async def open_house(shop: App) -> AsyncIterator[Callable[..., Any]]:
    """Opens the doors: ``house, http = await open_house(web=Web(…), loopback=True)``."""
    async with AsyncExitStack() as stack:

        async def opened(
            *, web: Web | None = None, loopback: bool = True, program: Any = None
        ) -> tuple[House, httpx.AsyncClient]:
            config = replace(load(shop.settings), web=web or Web())
            house = House(program or shop, config, loopback=loopback, local="mira")
            served = application(house)
            await stack.enter_async_context(served.router.lifespan_context(served))
            transport = httpx.ASGITransport(served, client=("127.0.0.1", 1234))
            describe(house)
            http = httpx.AsyncClient(
                transport=transport, base_url=ADDRESS, event_hooks={"response": [as_described]}
            )
            return house, await stack.enter_async_context(http)

        yield opened


@pytest.fixture
async def house(open_house: Callable[..., Any]) -> House:
    """The doors as they stand open on this machine alone, without credentials."""
    opened, http = await open_house()
    opened.http = http
    return opened


@pytest.fixture
def http(house: Any) -> httpx.AsyncClient:
    """Asks ``house``."""
    return house.http


@pytest.fixture
async def worker(shop: App) -> AsyncIterator[Worker]:
    """A worker at work."""
    config = replace(load(shop.settings), queues={"default": 4, "reports": 2})
    worker = Worker(shop, config)
    await worker.start()
    yield worker
    await worker.stop(grace=1)
