"""Connections that bring too much, or nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from koken.config import load
from koken.web import connections
from koken.web.house import House
from koken.web.serve import bind, open_doors

HEAD = b"POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.fixture
async def port(shop: Any) -> AsyncIterator[int]:
    """Where the doors are open."""
    listening = bind("127.0.0.1", 0)
    house = House(shop, load(shop.settings), loopback=True)
    async with open_doors(house, listening):
        yield listening.getsockname()[1]


async def answer(port: int, *parts: bytes) -> bytes:
    """What is answered to that, until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        (HEAD, *[b"X-%d: %s\r\n" % (number, b"a" * 8000) for number in range(9)], b"\r\n"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 66_000,),
        (b"GET /" + b"a" * 66_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",),
        (b"GET /" + b"a" * 66_000,),
    ],
)
async def test_headers_without_end_are_not_read(port: int, sent: tuple[bytes, ...]) -> None:
    assert (await answer(port, *sent)).startswith(b"HTTP/1.1 431 ")


async def test_large_headers_are_read(port: int) -> None:
    whole = b"GET /health HTTP/1.1\r\nConnection: close\r\nX: " + b"a" * 60_000 + b"\r\n\r\n"
    assert (await answer(port, whole[:40_000], whole[40_000:])).startswith(b"HTTP/1.1 200 ")


async def test_what_does_not_come_is_not_waited_for(
    port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.05)
    with caplog.at_level(logging.WARNING):
        body = HEAD + b"Content-Length: 100\r\n\r\n"
        for sent in (body, body + b'{"job": ', HEAD[:30]):
            assert (await answer(port, sent)).startswith(b"HTTP/1.1 408 "), sent
        assert await answer(port) == b""
        assert await answer(port, b"\r\n") == b""
    assert [each for each in caplog.records if each.exc_info] == []


async def test_an_end_waits_for_nobody_who_sends_nothing(
    shop: Any, caplog: pytest.LogCaptureFixture
) -> None:
    listening = bind("127.0.0.1", 0)
    port = listening.getsockname()[1]
    house = House(shop, load(shop.settings), loopback=True)
    with caplog.at_level(logging.WARNING):
        async with open_doors(house, listening):
            open_ones = []
            for sent in (HEAD[:20], HEAD + b"Content-Length: 9\r\n\r\n{", b""):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(sent)
                await writer.drain()
                open_ones.append((reader, writer))
            assert b" 200 " in await answer(port, b"GET /health HTTP/1.0\r\n\r\n")
        for reader, writer in open_ones:
            assert await reader.read() == b""
            writer.close()
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []
