"""The whole of what is served: the API, the console, and what machines ask about health."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from koken.web.access.porch import ASKED_BY_MACHINES, Porch
from koken.web.api.application import api
from koken.web.console.application import console
from koken.web.house import House
from koken.web.vitals import watch

API = "/api/v1"


class Parts:
    """Passes a request on to the part that it is for; ``app`` has what machines ask.

    A router would do the same by patterns, in a fifth of the time that a small answer takes.
    """

    def __init__(self, app: ASGIApp, api: ASGIApp, console: ASGIApp) -> None:
        self.app = app
        self.api = api
        self.console = console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        path = scope.get("path", "")
        if scope["type"] == "lifespan" or path in ASKED_BY_MACHINES:
            await self.app(scope, receive, send)
        elif path == API or path.startswith(f"{API}/"):
            scope["root_path"] = scope.get("root_path", "") + API
            if path == API:
                scope["path"] = f"{API}/"
            await self.api(scope, receive, send)
        else:
            await self.console(scope, receive, send)


def application(house: House) -> FastAPI:
    """An ASGI application that opens and closes the house with its lifespan."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with house.open():
            yield

    whole = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    parts = {"api": api(house), "console": console(house)}
    whole.add_middleware(Parts, **parts)
    whole.add_middleware(Porch, house=house)
    for name, part in ({"": whole} | parts).items():
        part.state.house, part.state.is_api = house, name != "console"
    watch(whole, house)
    return whole
