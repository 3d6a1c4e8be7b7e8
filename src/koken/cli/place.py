"""Where a command works: the app, the settings, and the address of the database.

An address that somebody states wins; else the private server of a ``koken dev`` in this folder. It
is put into this process's environment, so that a client which the app makes finds it too.
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from koken.app import App, load_app
from koken.cli import private
from koken.cli.common import Common
from koken.client.awaiting import AsyncClient
from koken.config import Config, load
from koken.errors import DatabaseUnreachable, DeclarationError, KokenError

T = TypeVar("T")
SETTING = "KOKEN_DATABASE_URL"
HERE = Path(__file__).resolve().parents[1]
"""Where Koken's own program lies."""
SCHEMES = ("postgresql://", "postgres://")


class NoDatabase(DeclarationError):
    """Nobody says where the database is."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command works; ``app`` is None where none is named, or none could be read."""

    config: Config
    app: App | None

    def client(self, common: Common) -> AsyncClient:
        """A client here, acting as who the command line says."""
        program = self.app if self.app is not None else self.config.database_url
        return AsyncClient(program, by=common.who, workspace=common.workspace)


def place(common: Common) -> Place:
    """Where a command works that needs no app. An app that is named is read for its settings.

    One that cannot be read is passed over with a note where the database is known without it:
    nobody looking into a failure should have to mend the app first.
    """
    known = find_private() or stated()
    if address_of_app(common):
        try:
            app = read_app(address_of_app(common))
        except Exception as error:
            if not known:
                raise
            print(f"koken: going on without the app: {error}", file=sys.stderr)
        else:
            return Place(checked(load(app.settings)), app)
    return Place(checked(load()), None)


def app_and_config(common: Common) -> tuple[App, Config]:
    """The app with all settings, for commands that cannot do without one."""
    find_private()
    app = read_app(address_of_app(common))
    config = checked(load(app.settings))
    return app, replace(config, app=address_of_app(common))


def find_private() -> str:
    """Make the private server of this folder the one to use, where nobody states an address."""
    found = "" if stated() else private.running_url()
    if found:
        os.environ[SETTING] = found
    return found


def stated() -> str:
    """The database's address in environment or files."""
    return load().database_url


def address_of_app(common: Common) -> str:
    """Where the app is, if somebody says."""
    return common.app or load().app


def read_app(address: str) -> App:
    """The app with its modules; an error inside the program is told with its place."""
    if not address:
        raise DeclarationError(
            "no app: give --app module:name, set KOKEN_APP, or app in koken.toml"
        )
    try:
        app = load_app(address)
        app.load()
    except DeclarationError as error:
        where = place_of(error)
        if not where:
            raise
        raise DeclarationError(f"{error} ({where})") from error
    except KokenError:
        raise
    except Exception as error:
        raise DeclarationError(f"app {address!r} cannot be read: {said(error)}") from error
    return app


def said(error: Exception) -> str:
    """An error in a line, with the place in the program where it came up."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    where = place_of(error)
    return f"{type(error).__name__}: {text}" + (f" ({where})" if where else "")


def place_of(error: Exception) -> str:
    """File and line of the last step outside of Koken; empty where there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename
        and not frame.filename.startswith("<")
        and not Path(frame.filename).is_relative_to(HERE)
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def checked(config: Config) -> Config:
    """Settings with an address that can be one."""
    if not config.database_url:
        raise no_address()
    if not config.database_url.startswith(SCHEMES):
        raise DeclarationError(
            f"database_url {hidden(config.database_url)!r} is no address; "
            "it begins with postgresql://"
        )
    return config


def hidden(url: str) -> str:
    """An address without the password, if it has one."""
    front, at, back = url.rpartition("@")
    return f"{front.rpartition(':')[0]}:…{at}{back}" if ":" in front else url


def no_address() -> KokenError:
    """What to say when nobody says where the database is."""
    if private.exists():
        return DatabaseUnreachable(
            f"`koken dev` does not run in this folder; its data is in {private.DATA}. "
            f"Start it, or set {SETTING}"
        )
    return NoDatabase(
        f"no database: set {SETTING}, or database_url in koken.toml. "
        "For a private one, run `koken dev` in this folder"
    )


def with_client(common: Common, work: Callable[[AsyncClient], Coroutine[Any, Any, T]]) -> T:
    """Carry out ``work`` with a client, to its end."""

    async def whole() -> T:
        async with place(common).client(common) as client:
            return await work(client)

    return asyncio.run(whole())
