"""What the doors of one process share: the clients' link, what is live, the key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from koken.client.awaiting import AsyncClient
from koken.config import Config
from koken.define.registry import Program, Registry
from koken.model.web import Web
from koken.store.database import Database
from koken.web.access.credentials import Credentials
from koken.web.access.issuer import Issuer
from koken.web.access.kept import Kept
from koken.web.live.hub import Hub

QUIET = 60.0
"""Seconds in which the same refusal is logged once."""
FORMS_HOLD = 2.0
"""Seconds; workers check by what they have themselves."""


class House:
    """One a process; ``loopback``: whether it listens on this machine alone."""

    def __init__(
        self, program: Program | str, config: Config, *, loopback: bool, local: str = "local"
    ) -> None:
        self.client = AsyncClient(program)
        self.config = config
        self.loopback = loopback
        self.local = local
        """Who acts while nobody has credentials: the user of this machine."""
        self.hub = Hub(self.db)
        self.credentials = Credentials(self.db, self.views)
        self.issuer = Issuer(self.web)
        self.forms: Kept[tuple[str, str], str] = Kept(FORMS_HOLD, 1000)
        """The JSON Schemas of what jobs of other programs take, by workspace and job."""
        self.refused: Kept[str, bool] = Kept(QUIET, 100)
        """The hooks of which it was logged that a call was refused; more of it is not."""

    @property
    def web(self) -> Web:
        """The settings of the doors."""
        return self.config.web

    @property
    def db(self) -> Database:
        """For the engine's verbs."""
        return self.client.link.db

    @property
    def views(self) -> Database:
        """For reading."""
        return self.client.link.views

    @property
    def registry(self) -> Registry:
        """The jobs of the program; none where there is only a database's address."""
        return self.client.link.registry

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """As long as the doors are open."""
        async with self.client, self.hub.going():
            try:
                yield
            finally:
                await self.credentials.settle()
