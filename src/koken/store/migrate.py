"""Migrations: numbered files, applied once each, under a lock, in order.

A released file never changes. ``minimum_reader`` in a file's head says which migration a worker
must at least know to work on the schema; a worker refuses a newer one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from typing import Any

import asyncpg

from koken.errors import Conflict
from koken.store.failures import reaching
from koken.store.statements import SCHEMA, literal, quoted, read

NAME = re.compile(r"(\d{4})_(\w+)\.sql")
READER = re.compile(r"^-- minimum_reader: (\d+)$", re.MULTILINE)
LOCK = 0x6B6F6B656E  # "koken"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema."""

    number: int
    name: str
    minimum_reader: int
    file: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a database stands: the last migration applied, and what is still to come."""

    version: int
    minimum_reader: int
    pending: tuple[Migration, ...]

    @property
    def usable(self) -> bool:
        """Whether this release can work on it."""
        return not self.pending and self.minimum_reader <= latest()


def migrations() -> tuple[Migration, ...]:
    """All that this release knows, in order."""
    found = []
    for file in resources.files(__package__).joinpath("migrations").iterdir():
        match = NAME.fullmatch(file.name)
        if match:
            reader = READER.search(file.read_text(encoding="utf-8"))
            if reader is None:
                raise AssertionError(f"{file.name} does not say its minimum_reader")
            found.append(Migration(int(match[1]), match[2], int(reader[1]), file.name))
    return tuple(sorted(found, key=lambda migration: migration.number))


def latest() -> int:
    """The number of the newest migration that this release knows."""
    return migrations()[-1].number


def text(migration: Migration, schema: str = SCHEMA) -> str:
    """The SQL of one migration for ``schema``, with the line that records it."""
    body = read(f"migrations/{migration.file}", schema)
    table = f"{quoted(schema)}.migration"
    return (
        f"{body}\n"
        f"create table if not exists {table} (\n"
        "  number int primary key, name text not null, minimum_reader int not null,\n"
        "  applied_at timestamptz not null default now());\n"
        f"insert into {table} (number, name, minimum_reader)\n"
        f"values ({migration.number}, {literal(migration.name)}, {migration.minimum_reader});\n"
    )


async def migrate(url: str, schema: str = SCHEMA) -> list[Migration]:
    """Bring a database up to date; returns what was applied.

    Several processes may do so at once: one works, the others wait and find nothing left to do.
    Raises ``DatabaseUnreachable``, or ``Conflict`` when the schema is newer than this release.
    """
    connection = await connect(url)
    try:
        async with connection.transaction():
            await connection.execute("set local lock_timeout = '10s'")
            await connection.execute(f"select pg_advisory_xact_lock({LOCK})")
            now = await standing(connection, schema)
            refuse_newer(now)
            for migration in now.pending:
                await connection.execute(text(migration, schema))
        return list(now.pending)
    finally:
        await connection.close()


async def check(url: str, schema: str = SCHEMA) -> Standing:
    """Where the database stands, without changing it."""
    connection = await connect(url)
    try:
        async with connection.transaction(readonly=True):
            return await standing(connection, schema)
    finally:
        await connection.close()


async def standing(connection: asyncpg.Connection[Any], schema: str) -> Standing:
    """Read the record of what was applied."""
    table = f"{quoted(schema)}.migration"
    if await connection.fetchval("select to_regclass($1)", table) is None:
        return Standing(0, 0, migrations())
    rows = await connection.fetch(f"select number, minimum_reader from {table} order by number")
    applied = {row["number"] for row in rows}
    return Standing(
        max(applied, default=0),
        max((row["minimum_reader"] for row in rows), default=0),
        tuple(each for each in migrations() if each.number not in applied),
    )


def refuse_newer(now: Standing) -> None:
    """Raise when this release is too old for the schema."""
    if now.minimum_reader > latest():
        raise Conflict(
            f"the database is at migration {now.version} and wants a Koken that knows "
            f"{now.minimum_reader}; this one knows {latest()}. Upgrade Koken here",
            what="schema",
        )


async def connect(url: str) -> asyncpg.Connection[Any]:
    """A connection for migrating; a pooler may stand before the database."""
    with reaching():
        return await asyncpg.connect(url, timeout=10, statement_cache_size=0)
