"""``koken bulk``, and ``koken retry --where``: repairs of many runs at a rate."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer

from koken.cli import output, words
from koken.cli.common import Common
from koken.cli.output import Column
from koken.cli.place import with_client
from koken.client.awaiting import AsyncClient
from koken.errors import InvalidArguments
from koken.model.bulk import Bulk
from koken.views import bulks
from koken.views.bulks import Preview

VERBS = ("list", "pause", "resume", "stop")
COLUMNS = (
    Column("ID"),
    Column("STATE"),
    Column("DONE", right=True),
    Column("FAILED AGAIN", right=True),
    Column("REFUSED", right=True),
    Column("RATE", right=True),
    Column("BY"),
    Column("QUERY", gives=True),
)


def bulk(
    ctx: typer.Context,
    verb: Annotated[str, typer.Argument(metavar="[list|pause|resume|stop]")] = "list",
    number: Annotated[int | None, typer.Argument(metavar="[ID]")] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")] = "",
) -> None:
    """List the repairs of many runs, or pause, resume or stop one."""
    common: Common = ctx.obj
    if verb not in VERBS:
        raise InvalidArguments(f"{verb!r} is none of {', '.join(VERBS)}")
    if verb == "list":
        found = with_client(common, lambda client: client.bulks())
        if common.json:
            output.items(found)
        else:
            output.table(COLUMNS, [row_of(each) for each in found])
        return
    if number is None:
        raise InvalidArguments(f"say which: koken bulk {verb} ID")
    moved = with_client(common, lambda client: move(client, verb, number, reason))
    tell(common, moved)


async def move(client: AsyncClient, verb: str, number: int, reason: str) -> Bulk:
    """Pause, resume or stop a bulk."""
    verbs = {
        "pause": client.pause_bulk,
        "resume": client.resume_bulk,
        "stop": client.stop_bulk,
    }
    return await verbs[verb](number, reason=reason)


def row_of(each: Bulk) -> list[str]:
    """A bulk as a row."""
    return [
        str(each.id),
        each.state,
        f"{each.done:,}/{each.total:,}",
        f"{each.failed_again:,}",
        f"{each.refused:,}",
        f"{each.rate:g}/s",
        each.by,
        each.query,
    ]


def tell(common: Common, each: Bulk) -> None:
    """A bulk in a line."""
    if common.json:
        output.as_json(each.to_json())
        return
    why = f": {words.plain(each.stopped_reason)}" if each.stopped_reason else ""
    output.say(
        (f"bulk {each.id}", "bold"),
        f" is {each.state}{why}; {each.done:,} of {words.counted(each.total, 'run')} retried, "
        f"{each.failed_again:,} failed again.",
    )


def retry_where(
    common: Common, query: str, *, rate: str, reason: str, sure: bool, dry_run: bool
) -> None:
    """Show what a query is about, ask, and have it retried by workers."""
    found = with_client(common, lambda client: look(client, query))
    if dry_run or not found.ids:
        show(common, found)
        return
    if not reason:
        raise InvalidArguments("a retry of many runs wants a --reason, for the record")
    if not sure:
        show(common, found)
        if not sys.stdin.isatty():
            raise InvalidArguments("nothing was done: --yes says that you mean it")
        typer.confirm(f"Retry {words.counted(len(found.ids), 'run')} at {rate}?", abort=True)
    made = with_client(common, lambda client: client.retry_where(query, rate=rate, reason=reason))
    if common.json:
        output.as_json(made.to_json())
        return
    output.say(
        (f"bulk {made.id}", "bold"),
        f" retries {words.counted(made.total, 'run')} at {made.rate:g}/s; it stops by itself when "
        f"they fail again. Follow it: koken bulk",
    )


async def look(client: AsyncClient, query: str) -> Preview:
    """What a query is about."""
    return await bulks.preview(client.link.views, query, workspace=client.workspace)


def show(common: Common, found: Preview) -> None:
    """Print what a bulk would be about."""
    if common.json:
        output.as_json(found.to_json())
        return
    output.say(f"{words.counted(len(found.ids), 'run')} would be retried{of_jobs(found.jobs)}")
    now = datetime.now(UTC)
    for run in found.first:
        output.say("  ", output.titled(run), (words.standing(run, now), output.style_of(run)))
    if len(found.ids) > len(found.first):
        output.say(f"  and {len(found.ids) - len(found.first):,} more")


def of_jobs(jobs: Mapping[str, int]) -> str:
    """``: report 12, greet 3``."""
    told = ", ".join(f"{name} {number:,}" for name, number in jobs.items())
    return f": {told}" if told else ""


COMMANDS = {"bulk": bulk}
