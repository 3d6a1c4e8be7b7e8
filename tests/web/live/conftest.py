"""Doors that are open on a real port, and listeners at them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from threading import Event as Gong
from typing import Any

import httpx
import pytest_asyncio

from koken import Context
from koken.app import App
from koken.config import load
from koken.web.house import House
from koken.web.serve import address, bind, open_doors


@dataclass
class Doors:
    """A house with its doors open, and who asks there."""

    house: House
    http: httpx.AsyncClient
    go_on: Gong
    """A run that has more to say waits for it."""

    async def start(self, job: str, **args: Any) -> int:
        """Start a run; gives its number."""
        return (await self.house.client.start(self.house.registry.get(job), **args)).id

    @asynccontextmanager
    async def listening(self, path: str, seen: str = "") -> AsyncIterator[Events]:
        """Listen to a stream."""
        headers = {"Last-Event-ID": seen} if seen else {}
        async with self.http.stream("GET", path, headers=headers, timeout=20) as answer:
            yield Events(answer)


@dataclass
class Event:
    """One that has come."""

    name: str
    data: Any
    mark: str


class Events:
    """What comes on a stream, one by one."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self.lines = answer.aiter_lines()

    async def next(self) -> Event:
        """The next event."""
        found = await self.maybe()
        assert found is not None, "the stream has ended"
        return found

    async def maybe(self) -> Event | None:
        """The next event; None at the end."""
        found: dict[str, str] = {}
        async for line in self.lines:
            if line:
                name, _, value = line.partition(": ")
                found[name] = value
            elif "event" in found:
                data = found.get("data", "")
                plain = json.loads(data) if data.startswith("{") else data
                return Event(found["event"], plain, found.get("id", ""))
            else:
                found = {}
        return None

    async def rest(self) -> list[Event]:
        """All until the end."""
        found = []
        while (event := await self.maybe()) is not None:
            found.append(event)
        return found


@pytest_asyncio.fixture
async def doors(shop: App) -> AsyncIterator[Doors]:
    """Open on a free port of this machine."""
    go_on = Gong()

    @shop.job
    def talk(ctx: Context, lines: int, more: bool = False) -> None:
        for each in range(lines):
            ctx.log.info("line %s", each)
        if more:
            assert go_on.wait(20)
            ctx.log.info("and one more")

    house = House(shop, load(shop.settings), loopback=True, local="mira")
    listening = bind("127.0.0.1", 0)
    async with (
        open_doors(house, listening),
        httpx.AsyncClient(base_url=address(listening)) as http,
    ):
        yield Doors(house, http, go_on)
