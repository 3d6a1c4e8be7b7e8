"""``koken doctor``: looks at everything that has to be right, and says what to do."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import typer

from koken.cli import findings, output, words
from koken.cli.common import Common
from koken.cli.findings import FAR_BACK, LATE, LONG_OPEN, Finding
from koken.cli.floor import FULL
from koken.cli.output import DIM
from koken.cli.place import place
from koken.cli.tables import standing
from koken.config import Config
from koken.errors import DatabaseUnreachable, DeclarationError
from koken.store.database import Database
from koken.views import floor, health

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
            facts = await health.server(db)
        except DeclarationError:  # a pooler that the settings do not tell of
            db = database(replace(config, pooled=True))
            facts = await health.server(db)
        found = findings.of_server(facts, config, at)
        found += await of_tables(db, replace(config, pooled=db.pooled), facts.autovacuum)
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


async def of_tables(db: Database, config: Config, autovacuum: bool) -> list[Finding]:
    """What Koken's own tables tell, where there are any."""
    held = await health.holders(db, seconds=LONG_OPEN, transactions=FAR_BACK)
    around = findings.of_holders(held)
    schema = findings.of_schema(await standing(config))
    if not schema.good:
        return [schema, *around]
    return [
        schema,
        *findings.of_workers(await floor.workers(db), await health.unserved(db)),
        *findings.of_queues(await floor.queues(db)),
        *findings.of_schedules(await health.problems(db), await health.late(db, seconds=LATE)),
        *around,
        *findings.of_log(await health.log(db)),
        *findings.of_runs(await health.runs(db), autovacuum=autovacuum),
    ]


COMMANDS = {"doctor": doctor}
