"""LISTEN: hints from the database, on a connection of its own. Losing it costs promptness only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg

from koken.errors import DatabaseUnreachable
from koken.store.failures import reaching

DEADLINE = 10.0
"""Seconds to connect and to begin to listen."""


class Channel:
    """One listening connection to ``url``; ``on_hint`` gets each hint's text."""

    def __init__(self, url: str, schema: str, on_hint: Callable[[str], None]) -> None:
        self.url = url
        self.schema = schema
        self.on_hint = on_hint
        self.connection: asyncpg.Connection[Any] | None = None

    async def open(self, on_lost: Callable[[], None]) -> None:
        """Connect and listen; ``on_lost`` is called when the connection ends."""
        try:
            with reaching():
                async with asyncio.timeout(DEADLINE):
                    self.connection = await asyncpg.connect(
                        self.url, server_settings={"application_name": "koken listener"}
                    )
                    self.connection.add_termination_listener(lambda _: on_lost())
                    await self.connection.add_listener(self.schema, self.heard)
        except DatabaseUnreachable:
            self.close()
            raise

    def heard(self, _: object, __: int, ___: str, payload: object) -> None:
        """Pass a hint on."""
        self.on_hint(str(payload))

    async def check(self) -> None:
        """Raise ``DatabaseUnreachable`` when the connection does not answer."""
        if self.connection is not None:
            with reaching():
                await self.connection.execute("select 1", timeout=5)

    def close(self) -> None:
        """Let go."""
        if self.connection is not None:
            self.connection.terminate()
            self.connection = None
