"""A TCP proxy that can be told to misbehave: the network's faults, at a moment of our choosing.

async with FaultProxy.before(url) as proxy:
    connection = await asyncpg.connect(proxy.url)
    proxy.swallow = Way.ANSWERS     # what is sent arrives, what comes back is lost
"""

from __future__ import annotations

import asyncio
import socket
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Flag, auto
from typing import Self
from urllib.parse import urlsplit, urlunsplit

NO_FAREWELL = struct.pack("ii", 1, 0)


class Way(Flag):
    """A direction; both make a black hole."""

    NONE = 0
    REQUESTS = auto()
    ANSWERS = auto()
    BOTH = REQUESTS | ANSWERS


class FaultProxy:
    """One port before one address.

    ``delay`` holds each piece back so many seconds, ``swallow`` loses what goes that way. Both may
    be changed at any time and count for connections that stand already.
    """

    def __init__(self, url: str) -> None:
        self.target = urlsplit(url)
        self.url = ""
        self.port = 0
        self.delay = 0.0
        self.swallow = Way.NONE
        self.listener: asyncio.Server | None = None
        self.links: set[StreamWriter] = set()
        self.tasks: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def before(cls, url: str) -> AsyncIterator[Self]:
        """A proxy before the server of a database address; ``.url`` is the way through it."""
        proxy = cls(url)
        await proxy.listen()
        try:
            yield proxy
        finally:
            proxy.refuse()
            proxy.reset()
            await asyncio.gather(*proxy.tasks)

    async def listen(self) -> None:
        """Take new connections, after :meth:`refuse` on the same port."""
        self.listener = await asyncio.start_server(self.carry, "127.0.0.1", self.port)
        self.port = self.listener.sockets[0].getsockname()[1]
        user = f"{self.target.username}@" if self.target.username else ""
        self.url = urlunsplit(self.target._replace(netloc=f"{user}127.0.0.1:{self.port}"))

    def refuse(self) -> None:
        """Refuse new connections; those that stand go on."""
        if self.listener is not None:
            self.listener.close()
            self.listener = None

    def reset(self) -> None:
        """Cut every connection that stands, without a farewell."""
        for link in self.links:
            cut(link)

    @property
    def connections(self) -> int:
        """How many connections stand."""
        return len(self.tasks)

    async def carry(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One client: a connection of its own to the server, and a pump each way."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        self.links.add(writer)
        try:
            answers, requests = await asyncio.open_connection(
                self.target.hostname, self.target.port or 5432
            )
        except OSError:
            cut(writer)
        else:
            self.links.add(requests)
            await asyncio.gather(
                self.pump(reader, requests, Way.REQUESTS), self.pump(answers, writer, Way.ANSWERS)
            )
            self.links.discard(requests)
        self.links.discard(writer)

    async def pump(self, source: StreamReader, sink: StreamWriter, way: Way) -> None:
        """Carry bytes one way until the source ends; its end, too, is passed on."""
        try:
            while piece := await source.read(65536):
                await asyncio.sleep(self.delay)
                if way not in self.swallow:
                    sink.write(piece)
                    await sink.drain()
        except ConnectionError:
            cut(sink)
        else:
            sink.close()


def cut(link: StreamWriter) -> None:
    """Close at once and say so with a reset, as after a crash."""
    end: socket.socket = link.get_extra_info("socket")
    if end.fileno() >= 0:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_FAREWELL)
    link.transport.abort()
