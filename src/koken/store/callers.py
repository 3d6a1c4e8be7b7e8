"""A caller's own connection, whatever its driver: statements of ours inside its transaction.

Known are asyncpg, psycopg 3, SQLAlchemy (sessions and connections, sync and async) and Django.
None of them is imported here unless the caller came with it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from koken.store.failures import by_code
from koken.store.statements import in_schema

NUMBERED = re.compile(r"\$(\d+)")
COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
Rows = list[Mapping[str, Any]]


class Caller:
    """Sends statements over somebody else's connection; ``is_async`` tells which method serves."""

    def __init__(self, connection: Any, schema: str) -> None:
        self.connection = connection
        self.schema = schema
        self.send, self.is_async = sender(connection)

    def ready(self, text: str) -> str:
        """The statement as it is sent: no comments, whose words might look like parameters."""
        return in_schema(COMMENT.sub("", text), self.schema)

    def fetch(self, text: str, *args: Any) -> Rows:
        """The rows of a statement, on a connection that blocks."""
        try:
            rows: Rows = self.send(self.connection, self.ready(text), args)
            return rows
        except Exception as error:
            raise translated(error) from error

    async def fetch_async(self, text: str, *args: Any) -> Rows:
        """The rows of a statement, on a connection that awaits."""
        try:
            rows: Rows = await self.send(self.connection, self.ready(text), args)
            return rows
        except Exception as error:
            raise translated(error) from error


Send = Callable[[Any, str, tuple[Any, ...]], Any]
"""Gives rows, or what is to be awaited for them."""


def sender(connection: Any) -> tuple[Send, bool]:
    """How statements go over ``connection``, and whether that awaits.

    Raises ``TypeError`` for a connection of a kind that is not known.
    """
    kinds = {
        f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(connection).__mro__
    }
    for names, send, is_async in (
        ({"asyncpg.Connection", "asyncpg.PoolConnectionProxy"}, over_asyncpg, True),
        ({"psycopg.AsyncConnection"}, over_psycopg_async, True),
        ({"psycopg.Connection"}, over_dbapi, False),
        ({"sqlalchemy.AsyncSession", "sqlalchemy.AsyncConnection"}, over_sqlalchemy_async, True),
        (
            {"sqlalchemy.Session", "sqlalchemy.Connection", "sqlalchemy.scoped_session"},
            over_sqlalchemy,
            False,
        ),
        ({"django.BaseDatabaseWrapper", "django.ConnectionProxy"}, over_dbapi, False),
    ):
        if kinds & names:
            return send, is_async
    raise TypeError(
        f"{type(connection).__module__}.{type(connection).__qualname__} is no connection that "
        "Koken knows: it takes those of asyncpg, psycopg 3, SQLAlchemy and Django. "
        "Any other can call the SQL function koken.enqueue itself"
    )


async def over_asyncpg(connection: Any, text: str, args: tuple[Any, ...]) -> Rows:
    """Asyncpg takes the statement as it is."""
    return [dict(row) for row in await connection.fetch(text, *args)]


def placeholders(text: str) -> str:
    """With ``%s`` for ``$1``…, each of which stands once and in order."""
    return NUMBERED.sub("%s", text.replace("%", "%%"))


def over_dbapi(connection: Any, text: str, args: tuple[Any, ...]) -> Rows:
    """Psycopg and Django: a cursor."""
    with connection.cursor() as cursor:
        cursor.execute(placeholders(text), args)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, values(row, names), strict=True)) for row in cursor.fetchall()]


async def over_psycopg_async(connection: Any, text: str, args: tuple[Any, ...]) -> Rows:
    """Psycopg's async connection."""
    async with connection.cursor() as cursor:
        await cursor.execute(placeholders(text), args)
        names = [column[0] for column in cursor.description]
        rows = await cursor.fetchall()
        return [dict(zip(names, values(row, names), strict=True)) for row in rows]


def values(row: Any, names: list[str]) -> list[Any]:
    """A row's values, whatever row factory the caller's connection has."""
    if isinstance(row, Mapping):
        return [row[name] for name in names]
    if isinstance(row, list | tuple):
        return list(row)
    return [getattr(row, name) for name in names]


def clause(text: str, args: tuple[Any, ...]) -> tuple[Any, dict[str, Any]]:
    """The statement for SQLAlchemy, with named parameters."""
    escaped = re.sub(r"(?<!:):(?!:)", r"\\:", text)
    named = NUMBERED.sub(lambda found: f":p{found[1]}", escaped)
    named = re.sub(r"(:p\d+)::(\w+)", r"cast(\1 as \2)", named)
    sqlalchemy = importlib.import_module("sqlalchemy")
    return sqlalchemy.text(named), {f"p{n}": value for n, value in enumerate(args, 1)}


def over_sqlalchemy(connection: Any, text: str, args: tuple[Any, ...]) -> Rows:
    """A session or a connection of SQLAlchemy."""
    return [dict(row) for row in connection.execute(*clause(text, args)).mappings()]


async def over_sqlalchemy_async(connection: Any, text: str, args: tuple[Any, ...]) -> Rows:
    """An async session or connection of SQLAlchemy."""
    return [dict(row) for row in (await connection.execute(*clause(text, args))).mappings()]


def translated(error: Exception) -> Exception:
    """A driver's error as ours, where one of our functions raised it; any other as it is."""
    original = getattr(error, "orig", None) or error.__cause__ or error
    for each in (error, original, getattr(original, "__cause__", None)):
        code = getattr(each, "sqlstate", None) or getattr(each, "pgcode", None)
        if isinstance(code, str) and (code.startswith("KK") or code in ("42P01", "3F000", "42883")):
            diagnosis = getattr(each, "diag", None)
            detail = getattr(each, "detail", None) or getattr(diagnosis, "message_detail", None)
            message = getattr(diagnosis, "message_primary", None) or str(each).splitlines()[0]
            return by_code(code, message, detail)
    return error
