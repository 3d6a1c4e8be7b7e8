"""Bodies of steps: they succeed, fail, skip or cancel themselves, and tell that they were here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import psycopg

import koken
from koken.testing import TestClient

Act = Callable[[], None]


def act(letter: str, name: str, seen: list[str] | None = None) -> Act:
    """A body that ends so: S succeeded, F failed, K skipped, C cancelled."""

    def body() -> None:
        if seen is not None:
            seen.append(name)
        if letter == "F":
            raise OSError(f"{name} is broken")
        if letter == "K":
            raise koken.Skip(f"{name} has nothing to do")
        if letter == "C":
            raise koken.Cancel(f"{name} is given up")

    return body


def never() -> NoReturn:
    """A body that is not to begin."""
    raise AssertionError("it was not to begin")


def rows(client: TestClient, text: str, *args: object) -> list[tuple[object, ...]]:
    """What the database of a test has."""
    with psycopg.connect(client.database_url) as connection:
        return connection.execute(text, args).fetchall()  # type: ignore[arg-type]
