"""What PostgreSQL's and the driver's errors mean here: translated once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import asyncpg

from koken.errors import (
    Conflict,
    DatabaseUnreachable,
    DeclarationError,
    InvalidArguments,
    KeyConflict,
    KokenError,
    Locked,
    NotFound,
    Overlapping,
    Refused,
)

TRANSIENT = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.InvalidCachedStatementError,  # a program's table has changed since we last read it
)
DEAD = (
    # the server has ended the connection, before or while something was sent
    ConnectionError,
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
)
UNREACHABLE = (
    # the server cannot do it now, whatever it was: tried again later, it may go
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,  # the driver's, when a farewell comes between two statements
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.ReadOnlySQLTransactionError,
)
GONE = ("connection is closed", "another operation is")
"""What the driver says of a connection that is closed or busy; of a wrong call it says others."""
NAMED = re.compile(r'"([^"]+)"')
DATA_CLASSES = ("22", "23", "54")
"""SQLSTATE classes: a value that cannot be, a key that is taken, more than fits."""
VALUE_CLASSES = ("22", "54")
"""Those of values alone: whether a key is taken is for our statements to see to."""
CONFLICTS: dict[str, type[Conflict]] = {
    "KK408": Overlapping,
    "KK409": KeyConflict,
    "KK410": Refused,
    "KK423": Locked,
}


@contextmanager
def reaching() -> Iterator[None]:
    """Turn what says that PostgreSQL does not answer into ``DatabaseUnreachable``.

    Raises ``DeclarationError`` for an address that is none. Other errors of the driver are
    mistakes in a program, and stay what they are.
    """
    try:
        yield
    except UNREACHABLE as error:
        raise unreachable(error) from error
    except asyncpg.ClientConfigurationError as error:
        raise DeclarationError(f"this is no way to reach PostgreSQL: {error}") from error
    except asyncpg.InterfaceError as error:
        if any(words in str(error) for words in GONE):
            raise unreachable(error) from error
        raise


def unreachable(error: BaseException) -> DatabaseUnreachable:
    """What people are told when PostgreSQL does not answer."""
    said = str(error) or type(error).__name__
    if isinstance(error, asyncpg.InvalidCatalogNameError) and (name := NAMED.search(said)):
        return DatabaseUnreachable(f"PostgreSQL has no database {name[0]}; createdb {name[1]}")
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError):
        return DatabaseUnreachable(
            f"PostgreSQL lets nobody in by this address: {said}. Its user and password are wrong, "
            "or the role is not made yet (createuser)"
        )
    if isinstance(error, asyncpg.QueryCanceledError):
        return DatabaseUnreachable(f"PostgreSQL gave up on a statement: {said}")
    return DatabaseUnreachable(f"PostgreSQL does not answer: {said}. `koken doctor` looks closer")


def translate(error: asyncpg.PostgresError) -> KokenError:
    """A database error as one of Koken's."""
    message = getattr(error, "message", None) or str(error)
    return by_code(error.sqlstate or "", message, getattr(error, "detail", None))


def concerns_data(error: KokenError) -> bool:
    """Whether the database refused what it was given, so that trying again is of no use."""
    code = sqlstate(error)
    return code[:2] in DATA_CLASSES or code.startswith("KK")


def concerns_value(error: BaseException) -> bool:
    """Whether a value is none that the database can read or hold, whatever else is the case."""
    return sqlstate(error)[:2] in VALUE_CLASSES


def sqlstate(error: BaseException) -> str:
    """What PostgreSQL said beneath an error; empty where it was not asked."""
    cause = error.__cause__
    while cause is not None and not isinstance(cause, asyncpg.PostgresError):
        cause = cause.__cause__
    return str(getattr(cause, "sqlstate", None) or "")


def by_code(code: str, message: str, detail: str | None) -> KokenError:
    """The error that a function of ours raised with ``code``, or a plain one for any other."""
    if code == "KK404":
        return NotFound(message)
    if code == "KK422":
        problems = details(detail)
        return InvalidArguments(
            f"{message}. Nothing was started.", {problems.get("argument", ""): message}
        )
    if code in CONFLICTS:
        found = details(detail)
        since = found.get("since")
        return CONFLICTS[code](
            message,
            what=str(found.get("what", "")),
            held_by=found.get("held_by"),
            since=datetime.fromisoformat(since) if since else None,
        )
    if code in ("42P01", "3F000", "42883"):
        return Conflict(
            f"the database has no Koken tables ({message}); run `koken migrate`", what="schema"
        )
    return KokenError(f"{message} (SQLSTATE {code})")


def details(text: str | None) -> dict[str, Any]:
    """The machine-readable part of an error that one of our functions raised."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
