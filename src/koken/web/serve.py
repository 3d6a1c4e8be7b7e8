"""The doors open: uvicorn inside our own event loop, on a socket that we have bound ourselves."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from ipaddress import ip_address
from typing import Any

import uvicorn
import uvloop
from starlette.types import ASGIApp, Receive, Scope, Send

from koken.errors import DeclarationError
from koken.web.access.opening import closed, open_reason
from koken.web.application import application
from koken.web.connections import Connection
from koken.web.house import House

GOODBYE = 3
"""Seconds that requests in flight, live views among them, have to end."""


class Server(uvicorn.Server):
    """Uvicorn without hands on signals: whoever runs us listens to those."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.open = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        self.open.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer no more; who has not read their answer by then is hung up on."""
        hanging_up = asyncio.get_running_loop().call_later(GOODBYE, self.hang_up)
        try:
            await super().shutdown(sockets)
        finally:
            hanging_up.cancel()

    def hang_up(self) -> None:
        """End all connections; what answers on them learns of it and ends as well."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


def ending(app: ASGIApp) -> ASGIApp:
    """An application whose answers may be ended before their time, without ado."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(asyncio.CancelledError):
            await app(scope, receive, send)

    return answered


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ``DeclarationError`` where it cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # with its protocol named, so that asyncio sends small answers at once (TCP_NODELAY)
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(1024)
    except OSError as error:
        raise DeclarationError(
            f"the console cannot listen on {host}:{port}: {error.strerror or error}. "
            "Give another --port, or --host"
        ) from None
    return found


def is_loopback(listening: socket.socket) -> bool:
    """Whether a socket hears this machine alone."""
    return ip_address(listening.getsockname()[0]).is_loopback


def is_everywhere(listening: socket.socket) -> bool:
    """Whether a socket hears whoever reaches this machine by any of its addresses."""
    return ip_address(listening.getsockname()[0]).is_unspecified


def address(listening: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{'localhost' if host in ('0.0.0.0', '::') else shown}:{port}"


@asynccontextmanager
async def open_doors(house: House, listening: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Serve as long as the block runs; gives the task, which ends early only by an error."""
    server = Server(
        uvicorn.Config(
            ending(application(house)),
            log_level="warning",
            access_log=False,
            lifespan="on",
            server_header=False,
            proxy_headers=False,
            http=Connection,
            ws="none",
            timeout_graceful_shutdown=GOODBYE + 1,
        )
    )
    task = asyncio.ensure_future(server.serve(sockets=[listening]))
    try:
        opening = asyncio.ensure_future(server.open.wait())
        await asyncio.wait((task, opening), return_when=asyncio.FIRST_COMPLETED)
        opening.cancel()
        if task.done():
            await task
        yield task
    finally:
        house.hub.end()  # live views would hold the end up as long as they may
        server.should_exit = True
        with suppress(asyncio.CancelledError):
            await task


async def who_may(house: House) -> str | None:
    """What to tell of who comes in; None where they sign in, as is usual.

    Raises ``DeclarationError`` where the doors must not open, with what to do.
    """
    problem = await closed(house)
    if problem is not None:
        raise DeclarationError(problem)
    return await open_reason(house)


def run(main: Coroutine[Any, Any, int]) -> int:
    """A process that serves and does little else: on the fastest loop there is."""
    return uvloop.run(main)
