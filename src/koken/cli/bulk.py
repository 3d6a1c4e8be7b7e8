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
from koken.client.asked import speed_of
from koken.client.awaiting import AsyncClient
from koken.engine import bulk as engine
from koken.errors import InvalidArguments
from koken.model.bulk import Bulk
from koken.views import bulks
from koken.views.bulks import Preview

FORESEEN = 200
"""Runs of which a preview says whether they would be refused."""
REASONS = 10
"""Reasons that are told one by one."""
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
    verb: Annotated[str, typer.Argument(metavar="[ID|list|pause|resume|stop]")] = "list",
    number: Annotated[int | None, typer.Argument(metavar="[ID]")] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")] = "",
) -> None:
    """List the repairs of many runs, show one, or pause, resume or stop it."""
    common: Common = ctx.obj
    if verb.isascii() and verb.isdecimal() and number is None:
        tell(common, *with_client(common, lambda client: whole(client, int(verb))))
        return
    if verb not in VERBS:
        raise InvalidArguments(f"{verb!r} is no number of a bulk, nor any of {', '.join(VERBS)}")
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


async def whole(client: AsyncClient, number: int) -> tuple[Bulk, Mapping[str, int]]:
    """A bulk, and why runs of it were not retried."""
    found = await client.bulk(number)
    return found, await engine.refusals(client.link.db, found.id)


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


def tell(common: Common, each: Bulk, refusals: Mapping[str, int] | None = None) -> None:
    """A bulk in a line, and ``refusals`` with their reasons."""
    if common.json:
        more = {} if refusals is None else {"refusals": dict(refusals)}
        output.as_json({**each.to_json(), **more})
        return
    why = f": {words.plain(each.stopped_reason)}" if each.stopped_reason else ""
    output.say(
        (f"bulk {each.id}", "bold"),
        f" is {each.state}{why}; {each.done:,} of {words.counted(each.total, 'run')} retried, "
        f"{each.failed_again:,} failed again.",
    )
    if refusals:
        output.say(f"{words.counted(each.refused, 'run')} refused:")
        reasons(refusals)


def reasons(refusals: Mapping[str, int]) -> None:
    """Why runs are not retried, and how many for each reason; the most first."""
    told = sorted(refusals.items(), key=lambda each: (-each[1], each[0]))
    for why, count in told[:REASONS]:
        output.say(f"  {count:,}  {words.plain(why)}")
    if len(told) > REASONS:
        output.say(f"  and {words.counted(len(told) - REASONS, 'other reason')}")


def retry_where(
    common: Common, query: str, *, rate: str, reason: str, sure: bool, dry_run: bool
) -> None:
    """Show what a query is about, ask, and have it retried by workers."""
    speed_of(rate)
    looks = dry_run or not sure
    found, refusals = with_client(common, lambda client: look(client, query, looks))
    if dry_run or not found.ids:
        show(common, found, refusals)
        return
    if not reason:
        raise InvalidArguments("a retry of many runs wants a --reason, for the record")
    if not sure:
        show(common, found, refusals)
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
        f"they fail again. Follow it: koken bulk {made.id}",
    )


async def look(client: AsyncClient, query: str, foresee: bool) -> tuple[Preview, Mapping[str, int]]:
    """What a query is about, and why some of the first runs would be refused."""
    found = await bulks.preview(client.link.views, query, workspace=client.workspace)
    if not foresee:
        return found, {}
    return found, await engine.foresee(client.link.db, found.ids[:FORESEEN])


def show(common: Common, found: Preview, refusals: Mapping[str, int]) -> None:
    """Print what a bulk would be about."""
    if common.json:
        output.as_json({**found.to_json(), "refusals": dict(refusals)})
        return
    output.say(f"{words.counted(len(found.ids), 'run')} would be retried{of_jobs(found.jobs)}")
    now = datetime.now(UTC)
    for run in found.first:
        output.say("  ", output.titled(run), (words.standing(run, now), output.style_of(run)))
    if len(found.ids) > len(found.first):
        output.say(f"  and {len(found.ids) - len(found.first):,} more")
    if refusals:
        of = f" of the first {FORESEEN}" if len(found.ids) > FORESEEN else ""
        count = sum(refusals.values())
        output.say(f"{words.counted(count, 'run')}{of} would be refused:")
        reasons(refusals)


def of_jobs(jobs: Mapping[str, int]) -> str:
    """``: report 12, greet 3``."""
    told = ", ".join(f"{name} {number:,}" for name, number in jobs.items())
    return f": {told}" if told else ""


COMMANDS = {"bulk": bulk}
