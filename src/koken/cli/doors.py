"""The console and the API in a process of the terminal; an optional extra, ``koken[web]``."""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from koken.cli.common import Common, os_user
from koken.config import Config
from koken.define.registry import Program
from koken.errors import DeclarationError

EXTRA = "pip install 'koken[web]'"


def serving() -> Any:
    """The module that serves. Raises ``DeclarationError`` where the extra is not installed."""
    try:
        return importlib.import_module("koken.web.serve")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("koken"):
            raise
        raise DeclarationError(
            f"the console needs {error.name}, which is not installed: {EXTRA}"
        ) from None


@dataclass(frozen=True, slots=True)
class Doors:
    """A bound socket, and what is to be served on it."""

    listening: socket.socket
    house: Any
    address: str
    everywhere: bool
    """Whether whoever reaches this machine may ask."""

    @property
    def told(self) -> str:
        """Where the console is, and that it is open to others where its address does not say so."""
        return f"{self.address}, listening everywhere" if self.everywhere else self.address

    async def who_may(self) -> str | None:
        """What to tell of who comes in. Raises ``DeclarationError`` where nobody may."""
        said: str | None = await serving().who_may(self.house)
        return said

    @asynccontextmanager
    async def open(self) -> AsyncIterator[asyncio.Task[None]]:
        """Serve as long as the block runs."""
        async with serving().open_doors(self.house, self.listening) as task:
            yield task


def bound(program: Program | str, config: Config, common: Common) -> Doors:
    """The doors, bound where the settings say. Raises ``DeclarationError`` where they cannot be."""
    serve = serving()
    listening = serve.bind(config.web.host, config.web.port)
    house = serve.House(
        program, config, loopback=serve.is_loopback(listening), local=common.by or os_user()
    )
    return Doors(listening, house, serve.address(listening), serve.is_everywhere(listening))
