"""How views read: with their own connection, and with any value that people may give."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from koken.errors import InvalidArguments, KokenError
from koken.store.database import Database, Row, Transaction
from koken.store.failures import concerns_value


@asynccontextmanager
async def reading(db: Database) -> AsyncIterator[Transaction]:
    """Where the statements of a view go; behind a pooler they stay with one server.

    Raises ``InvalidArguments`` for a value that the driver cannot send or PostgreSQL not read.
    """
    try:
        async with db.place(alone=True, reads=True) as session:
            yield session
    except KokenError as error:
        if not concerns_value(error):
            raise
        raise InvalidArguments(f"PostgreSQL cannot read a value: {error}") from error


async def rows(db: Database, text: str, *args: Any) -> list[Row]:
    """The rows of one statement; raises as ``reading`` does."""
    async with reading(db) as session:
        return await session.fetch_text(text, *args)
