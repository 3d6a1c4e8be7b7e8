"""``koken bulk``, and ``--where``: what is done to many runs at a rate."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from koken.cli import output
from koken.cli.common import Common
from koken.cli.output import Column
from koken.cli.place import with_client
from koken.client.asked import speed_of
from koken.client.awaiting import AsyncClient
from koken.engine import bulk as engine
from koken.engine.bulk import Foreseen
from koken.errors import InvalidArguments
from koken.model.bulk import Bulk, BulkVerb
from koken.views import bulks, runwords, words
from koken.views.bulks import FORESEEN, Preview

PATIENCE = 5.0
"""Seconds for which it is looked what would be refused."""
FEW = 10
"""Runs of which none is left when it is first looked how many of them failed again."""
REASONS = 10
"""Reasons that are told one by one."""
DONE = {
    "retry": "retried",
    "cancel": "cancelled",
    "skip": "skipped past what failed",
    "acknowledge": "acknowledged",
}
DOES = {
    "retry": "retries",
    "cancel": "cancels",
    "skip": "skips what failed of",
    "acknowledge": "acknowledges",
}
VERBS = ("list", "pause", "resume", "stop")
COLUMNS = (
    Column("ID"),
    Column("VERB"),
    Column("STATE"),
    Column("DONE", right=True),
    Column("RECOVERED", right=True),
    Column("FAILED AGAIN", right=True),
    Column("REFUSED", right=True),
    Column("RATE", right=True),
    Column("BY"),
    Column("QUERY", gives=True),
)

RunOrNone = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="Its number, or a job for its last run.")
]
WhereText = Annotated[
    str,
    typer.Option("--where", metavar="QUERY", help="Many runs: job:report state:failed since:2h."),
]
Rate = Annotated[
    str, typer.Option("--rate", metavar="RATE", help="With --where: how fast; default 5/s.")
]
Yes = Annotated[bool, typer.Option("--yes", help="With --where: do not ask.")]


def bulk(
    ctx: typer.Context,
    verb: Annotated[str, typer.Argument(metavar="[ID|list|pause|resume|stop]")] = "list",
    number: Annotated[int | None, typer.Argument(metavar="[ID]")] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")] = "",
) -> None:
    """List what is done to many runs, show one of it, or pause, resume or stop it."""
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
    """A bulk, and why runs of it were left as they are."""
    found = await client.bulk(number)
    return found, await bulks.refusals(client.link.views, found.id)


def row_of(each: Bulk) -> list[str]:
    """A bulk as a row."""
    return [
        str(each.id),
        each.verb,
        each.state,
        f"{each.done:,}/{each.total:,}",
        f"{each.recovered:,}",
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
    again = ""
    if each.verb == "retry" and each.done:
        again = f": {each.recovered:,} recovered, {each.failed_again:,} failed again"
    if each.going and each.verb != "acknowledge":
        again += (
            f"{',' if again else ':'} {each.going:,} still {'goes' if each.going == 1 else 'go'}"
        )
    output.say(
        (f"bulk {each.id}", "bold"),
        f" is {each.state}{why}; {each.done:,} of {words.counted(each.total, 'run')} "
        f"{DONE[each.verb]}{again}.",
    )
    if refusals:
        output.say(f"{words.counted(each.refused, 'run')} refused:")
        reasons(refusals)


def reasons(refusals: Mapping[str, int]) -> None:
    """Why runs are left as they are, and how many for each reason; the most first."""
    told = sorted(refusals.items(), key=lambda each: (-each[1], each[0]))
    for why, count in told[:REASONS]:
        output.say(f"  {count:,}  {words.plain(why)}")
    if len(told) > REASONS:
        output.say(f"  and {words.counted(len(told) - REASONS, 'other reason')}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What ``--where`` says of many runs, and how sure somebody is."""

    verb: BulkVerb
    query: str
    rate: str
    reason: str
    sure: bool
    dry_run: bool


def many(common: Common, verb: BulkVerb, run: str | None, where: str, **how: Any) -> bool:
    """Do it to all runs that match, if ``--where`` says so. Raises ``InvalidArguments``."""
    if not where:
        return False
    if run is not None:
        raise InvalidArguments("--where says which runs; leave out RUN")
    of_many(common, Where(verb=verb, query=where, **how))
    return True


def of_many(common: Common, asked: Where) -> None:
    """Show what a query is about, ask, and have it done by workers."""
    verb = asked.verb
    speed_of(asked.rate)
    looks = asked.dry_run or not asked.sure
    found, seen = with_client(common, lambda client: look(client, asked, looks))
    if asked.dry_run or not found.ids:
        show(common, verb, found, seen)
        return
    if not asked.reason:
        raise InvalidArguments(f"a {verb} of many runs wants a --reason, for the record")
    if not asked.sure:
        show(common, verb, found, seen)
        if not sys.stdin.isatty():
            raise InvalidArguments("nothing was done: --yes says that you mean it")
        runs = words.counted(len(found.ids), "run")
        typer.confirm(f"{verb.capitalize()} {runs} at {asked.rate}?", abort=True)
    made = with_client(
        common, lambda client: client.made_bulk(verb, asked.query, asked.rate, asked.reason)
    )
    if common.json:
        output.as_json(made.to_json())
        return
    stops = ""
    if verb == "retry" and made.total > FEW:
        stops = "; it stops by itself once ten have ended and most of the last have failed again"
    output.say(
        (f"bulk {made.id}", "bold"),
        f" {DOES[verb]} {words.counted(made.total, 'run')} at {made.rate:g}/s{stops}. "
        f"Follow it: koken bulk {made.id}",
    )


async def look(client: AsyncClient, asked: Where, foresee: bool) -> tuple[Preview, Foreseen]:
    """What a query is about, and why some of the first runs would be refused."""
    found = await bulks.preview(
        client.link.views, asked.query, workspace=client.workspace, verb=asked.verb
    )
    if not foresee:
        return found, Foreseen(0, Counter())
    ids = found.ids[:FORESEEN]
    return found, await engine.foresee(client.link.db, asked.verb, ids, seconds=PATIENCE)


def show(common: Common, verb: BulkVerb, found: Preview, seen: Foreseen) -> None:
    """Print what a bulk would be about."""
    if common.json:
        told = {"foreseen": seen.looked, "refusals": dict(seen.refusals)}
        output.as_json({**found.to_json(), **told})
        return
    done = f"{words.counted(len(found.ids), 'run')} would be {DONE[verb]}"
    output.say(f"{done}{of_jobs(found.jobs)}")
    now = datetime.now(UTC)
    for run in found.first:
        output.say("  ", output.titled(run), (runwords.standing(run, now), output.style_of(run)))
    if len(found.ids) > len(found.first):
        output.say(f"  and {len(found.ids) - len(found.first):,} more")
    if seen.refusals:
        of = f" of the first {seen.looked}" if len(found.ids) > seen.looked else ""
        count = seen.refusals.total()
        output.say(f"{words.counted(count, 'run')}{of} would be refused:")
        reasons(seen.refusals)


def of_jobs(jobs: Mapping[str, int]) -> str:
    """``: report 12, greet 3``."""
    told = ", ".join(f"{name} {number:,}" for name, number in jobs.items())
    return f": {told}" if told else ""


COMMANDS = {"bulk": bulk}
