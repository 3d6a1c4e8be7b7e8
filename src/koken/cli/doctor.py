"""``koken doctor``: looks at everything that has to be right, and says what to do."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import typer

from koken.cli import output
from koken.cli.common import Common
from koken.cli.floor import FULL
from koken.cli.output import DIM
from koken.cli.place import place
from koken.config import Config
from koken.errors import DatabaseUnreachable, DeclarationError
from koken.store.database import Database
from koken.views import examination, words
from koken.views.findings import Finding

WIDTH = 15


def doctor(ctx: typer.Context) -> int:
    """Look for what is wrong and say what to do; exit 1 when something is."""
    common: Common = ctx.obj
    config = place(common).config
    found, code = asyncio.run(examine(config))
    if common.json:
        output.items(found)
    else:
        for each in found:
            tell(each)
        wrong = sum(not each.good for each in found)
        output.say(f"{words.counted(wrong, 'thing')} to mend." if wrong else "All is well.")
    return code


def tell(each: Finding) -> None:
    """A finding as a line."""
    mark = ("✓ ", "green") if each.good else ("✗ ", "bold red")
    if each.good and each.remedy:
        mark = (f"{FULL} ", "yellow")
    output.say(mark, (f"{each.name:<{WIDTH}}", DIM), words.plain(each.text))
    if each.remedy:
        output.say(" " * (WIDTH + 2), "→ ", words.plain(each.remedy))


async def examine(config: Config) -> tuple[list[Finding], int]:
    """All findings, and the exit code."""
    at = words.address(config.database_url)
    db = database(config)
    try:
        try:
            found = await examination.examine(db, config)
        except DeclarationError:  # a pooler that the settings do not tell of
            db = database(replace(config, pooled=True))
            found = await examination.examine(db, config)
    except DatabaseUnreachable as error:
        remedy = "is it running, and is KOKEN_DATABASE_URL right?"
        return [Finding("connection", False, f"{at}: {plain(error)}", remedy)], error.exit_code
    finally:
        await db.close()
    return found, int(any(not each.good for each in found))


def plain(error: DatabaseUnreachable) -> str:
    """What the database said, without the advice to come here."""
    return str(error).partition(". `koken doctor`")[0]


def database(config: Config) -> Database:
    """Connections for looking."""
    return Database(
        config.database_url,
        schema=config.schema,
        size=1,
        planner="default",
        pooled=config.pooled,
    )


COMMANDS = {"doctor": doctor}
