"""The whole of what is served: the API, the console, and what machines ask about health."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from koken.web.access.gate import Gate
from koken.web.api.application import api
from koken.web.console.application import console
from koken.web.house import House
from koken.web.vitals import watch


def application(house: House) -> FastAPI:
    """An ASGI application that opens and closes the house with its lifespan."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with house.open():
            yield

    whole = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    whole.add_middleware(Gate, house=house)
    whole.state.house, whole.state.is_api = house, True
    watch(whole, house)
    parts = {"/api/v1": api(house), "": console(house)}
    for path, part in parts.items():
        part.state.house, part.state.is_api = house, bool(path)
        whole.mount(path, part)

    async def unmatched(scope: Scope, receive: Receive, send: Send) -> None:
        """A path with a line feed in it, which no pattern of the router takes."""
        part = parts["/api/v1" if scope["path"].startswith("/api/v1/") else ""]
        await part(scope, receive, send)

    whole.router.default = unmatched
    return whole
