"""A PostgreSQL for the tests: one private server a session, one fresh database a test.

``KOKEN_TEST_DATABASE_URL`` names another server (a superuser's address) to use instead. Sessions
stand in a time zone far from UTC on purpose: whatever confuses the two shows at once.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from koken.embedded.server import Server
from tests.support.moments import until_sync

TIMEZONE = "Pacific/Chatham"
FAST = {"fsync": "off", "full_page_writes": "off", "max_connections": "200"}

numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a server on which the tests may do anything."""
    if given := os.environ.get("KOKEN_TEST_DATABASE_URL"):
        yield given
        return
    with scratch_directory() as directory, Server.start(directory, settings=FAST) as server:
        yield server.url


@pytest.fixture(scope="session")
def template_database(postgres_url: str) -> Iterator[str]:
    """The name of a database that is migrated once and then only copied."""
    with fresh_database(postgres_url, "koken_template") as url:
        with ThreadPoolExecutor(1) as apart:  # a test's event loop may already run in this thread
            apart.submit(migrate_now, url).result()
        yield urlsplit(url).path.lstrip("/")


@pytest.fixture
def database_url(postgres_url: str, template_database: str) -> Iterator[str]:
    """The address of this test's own migrated database."""
    with fresh_database(postgres_url, "koken_test", template_database) as url:
        yield url


@pytest.fixture
def empty_database_url(postgres_url: str) -> Iterator[str]:
    """The address of this test's own database with nothing in it."""
    with fresh_database(postgres_url, "koken_empty") as url:
        yield url


@contextmanager
def fresh_database(server_url: str, prefix: str, template: str = "template0") -> Iterator[str]:
    """A database that is gone afterwards, whoever is still connected to it."""
    name = f"{prefix}_{os.getpid()}_{next(numbers)}"
    database = sql.Identifier(name)
    source = sql.Identifier(template)
    zone = sql.Literal(TIMEZONE)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {} template {}").format(database, source))
        connection.execute(sql.SQL("alter database {} set timezone = {}").format(database, zone))
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(sql.SQL("drop database {} with (force)").format(database))


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """A folder that an unprivileged user can reach too, unlike pytest's own."""
    directory = Path(tempfile.mkdtemp(prefix="koken-test-", dir="/tmp"))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        until_sync(lambda: removed(directory))


def removed(directory: Path) -> bool:
    """Whether all of it is gone; a server that is just ending removes some files itself."""
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()


def migrate_now(url: str) -> None:
    """Bring a database up to date, with days for its log, on an event loop of its own."""
    from koken.engine import prune  # the ground's tests need no database
    from koken.store.database import Database
    from koken.store.migrate import migrate

    async def furnish() -> None:
        await migrate(url)
        db = Database(url)
        await prune.partition(db, {"logs": 86_400.0})
        await db.close()

    asyncio.run(furnish())
