"""Databases of tests: each a copy of one that was migrated once, on a server that may lose them."""

from __future__ import annotations

import atexit
import hashlib
import os
import secrets
import shutil
import tempfile
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from koken.embedded.server import Server
from koken.store.database import Database, Transaction
from koken.store.migrate import migrate, migrations, text
from koken.store.statements import in_schema
from koken.testing.clock import sql

SERVER = "KOKEN_TEST_DATABASE_URL"
SETTINGS = {"fsync": "off", "full_page_writes": "off", "max_connections": "200"}
UNHURRIED = {"statement_timeout": "0", "lock_timeout": "0"}
PATIENCE = 120.0
"""Seconds that a statement on whole databases may take."""
LOCK = 0x6B6F6B656E74  # "kokent"

starting = threading.Lock()


def server_url() -> str:
    """The server that the environment names, else one that this process starts for itself."""
    given = os.environ.get(SERVER)
    if given:
        return given
    with starting:
        return own_server().url


@cache
def own_server() -> Server:
    """A private server, gone with this process."""
    folder = Path(tempfile.mkdtemp(prefix="koken-testing-"))
    folder.chmod(0o755)  # for root the server is another user's
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = Server.start(folder, settings=SETTINGS)
    atexit.register(server.stop, "immediate")
    return server


@dataclass(frozen=True, slots=True)
class Place:
    """A database on a server, to be made and to be dropped."""

    server: str
    name: str

    @classmethod
    def new(cls) -> Place:
        """One that nobody else has."""
        return cls(server_url(), f"koken_test_{secrets.token_hex(6)}")

    @property
    def url(self) -> str:
        """Where to connect."""
        return urlunsplit(urlsplit(self.server)._replace(path=f"/{self.name}"))

    async def make(self, schema: str) -> None:
        """Make it, migrated and with a clock."""
        server = unhurried(self.server)
        try:
            async with server.session() as session:
                template = await template_on(session, self.server, schema)
                await session.execute(f"create database {self.name} template {template}")
                await session.execute(f"alter database {self.name} set synchronous_commit = off")
        finally:
            await server.close()

    async def drop(self) -> None:
        """Drop it, whoever is still connected."""
        server = unhurried(self.server)
        try:
            async with server.session() as session:
                await session.execute(f"drop database if exists {self.name} with (force)")
        finally:
            await server.close()


def unhurried(url: str) -> Database:
    """One connection to a server, for statements on whole databases."""
    server = Database(url, size=1, deadline=PATIENCE)
    server.settings |= UNHURRIED
    return server


async def template_on(session: Transaction, server: str, schema: str) -> str:
    """The name of the database to copy; made by whoever comes first, while others wait."""
    name = template_name(schema)
    if not await exists(session, name):
        await session.execute(f"select pg_advisory_lock({LOCK})")
        try:
            if not await exists(session, name):
                await make_template(session, Place(server, f"{name}_new"), schema)
                await session.execute(f"alter database {name}_new rename to {name}")
        finally:
            await session.execute(f"select pg_advisory_unlock({LOCK})")
    return name


def template_name(schema: str) -> str:
    """Another name for each other content."""
    content = [text(each, schema) for each in migrations()]
    digest = hashlib.sha256("\n".join([*content, sql("clock"), schema]).encode())
    return f"koken_template_{digest.hexdigest()[:12]}"


async def exists(session: Transaction, name: str) -> bool:
    """Whether the server has a database of that name."""
    return bool(await session.fetch_text("select from pg_database where datname = $1", name))


async def make_template(session: Transaction, place: Place, schema: str) -> None:
    """Make a migrated database with a clock; what an earlier try left is thrown away."""
    await session.execute(f"drop database if exists {place.name} with (force)")
    await session.execute(f"create database {place.name}")
    await migrate(place.url, schema)
    inside = unhurried(place.url)
    try:
        async with inside.session() as own:
            await own.execute(in_schema(sql("clock"), schema))
    finally:
        await inside.close()
