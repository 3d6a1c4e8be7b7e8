"""``koken migrate`` and ``koken prune``: the tables, and how much history stays in them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from koken.cli import output
from koken.cli.common import Common
from koken.cli.mend import Reason
from koken.cli.place import NoDatabase, place, with_client
from koken.cli.tables import direct, standing
from koken.client.awaiting import AsyncClient
from koken.config import Config, load
from koken.engine import events, prune
from koken.errors import InvalidArguments
from koken.store import migrate as schema
from koken.store.database import Database
from koken.store.migrate import Migration, Standing
from koken.views import history, words

PENDING = 1


def migrate(
    ctx: typer.Context,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 when something is pending.")
    ] = False,
    sql: Annotated[
        bool,
        typer.Option("--sql", help="Print what would be applied; without a database, all of it."),
    ] = False,
) -> int:
    """Bring the database's tables up to date. Several at once do no harm."""
    common: Common = ctx.obj
    if check and sql:
        raise InvalidArguments("give --check or --sql, not both")
    if sql:
        return print_sql(common)
    config = place(common).config
    if check:
        return say_standing(common, asyncio.run(standing(config)))
    applied = asyncio.run(bring_up(config))
    if common.json:
        output.as_json({"applied": names(applied), "version": schema.latest()})
    elif applied:
        output.say(f"Applied {', '.join(names(applied))}.")
    else:
        output.say(f"Nothing to apply: the database is at migration {schema.latest()}.")
    return 0


async def bring_up(config: Config) -> list[Migration]:
    """Apply what is pending; tables that are new get the log's partitions of the coming days."""
    applied = await schema.migrate(direct(config), config.schema)
    if applied:
        db = Database(direct(config), schema=config.schema, size=1)
        try:
            await prune.partition(db, config.keep)
        finally:
            await db.close()
    return applied


def names(found: list[Migration] | tuple[Migration, ...]) -> list[str]:
    """Migrations by the names of their files."""
    return [each.file.removesuffix(".sql") for each in found]


def say_standing(common: Common, found: Standing) -> int:
    """Print where a database stands; returns the exit code of ``--check``."""
    schema.refuse_newer(found)
    if common.json:
        output.as_json({"version": found.version, "pending": names(found.pending)})
    elif found.pending:
        output.say(f"Pending: {', '.join(names(found.pending))}. Apply them: koken migrate")
    else:
        output.say(f"Nothing is pending: the database is at migration {found.version}.")
    return PENDING if found.pending else 0


def print_sql(common: Common) -> int:
    """Print the SQL of what is pending, as one transaction."""
    try:
        config = place(common).config
    except NoDatabase:
        name, pending = load().schema, schema.migrations()
    else:
        name = config.schema
        pending = asyncio.run(standing(config)).pending
    if not pending:
        print("-- Nothing is pending.")
        return 0
    texts = [schema.text(each, name) for each in pending]
    print("\n".join(("begin;", *texts, "commit;")))
    return 0


@dataclass(frozen=True, slots=True)
class Swept:
    """What went, or would go."""

    runs: int
    ticks: int
    """Up to 1,000; 1,001 stands for more."""
    days: int
    """Of log lines."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"runs": self.runs, "ticks": self.ticks, "log_days": self.days}


def prune_history(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    reason: Reason = "",
) -> None:
    """Delete history whose time is over; a worker does so by itself every ten minutes."""
    common: Common = ctx.obj
    keep = place(common).config.keep
    done = with_client(common, lambda client: sweep(client, keep, dry_run))
    if not dry_run:
        with_client(common, lambda client: record(client, done, reason))
    if common.json:
        output.as_json({**done.to_json(), "dry_run": dry_run})
        return
    verb = "Would delete" if dry_run else "Deleted"
    days = words.counted(done.days, "day")
    ticks = f"{words.capped(done.ticks)} {'tick' if done.ticks == 1 else 'ticks'}"
    output.say(f"{verb} {words.counted(done.runs, 'run')}, {ticks} and {days} of log lines.")


async def sweep(client: AsyncClient, keep: Mapping[str, float], dry_run: bool) -> Swept:
    """A whole walk over the history."""
    old = await history.old(client.link.views, keep)
    runs, cursor = 0, 0
    while True:
        done = await prune.prune(client.link.db, keep, cursor=cursor, dry_run=dry_run)
        runs, cursor = runs + done.runs, done.cursor
        if not cursor:
            break
        if sys.stderr.isatty():
            print(f"\r{words.counted(runs, 'run')} …", end="\r", file=sys.stderr)
    if not dry_run:
        await prune.prune_rest(client.link.db, keep)
        await prune.partition(client.link.db, keep)
    return Swept(runs, old.ticks, old.days)


async def record(client: AsyncClient, done: Swept, reason: str) -> None:
    """Leave an event with who and why."""
    await client.link.db.run(
        lambda tx: events.record(
            tx, "prune", client.who, reason=reason or None, detail=done.to_json()
        )
    )


COMMANDS = {"migrate": migrate, "prune": prune_history}
