"""``koken events``: who did what in a workspace, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from koken.cli import output
from koken.cli.common import Common
from koken.cli.lists import Limit, checked_limit
from koken.cli.output import Column
from koken.cli.place import with_client
from koken.errors import InvalidArguments
from koken.views import clocks, eventquery, words
from koken.views import events as view
from koken.views.events import PlacedEvent
from koken.views.query import is_id


def events(
    ctx: typer.Context,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUERY]", help="verb:cancel by:anna job:report run:412 since:2h"),
    ] = None,
    limit: Limit = 50,
    before: Annotated[
        str, typer.Option(metavar="EVENT", help="Only events before this one: the next page.")
    ] = "",
) -> None:
    """List what people did, and why; a bare word is looked for in the reason."""
    common: Common = ctx.obj
    most = checked_limit(limit)
    if before and not is_id(before):
        raise InvalidArguments(f"--before is {before!r}, which is no event's number")
    asked = eventquery.parse(" ".join(query or ()))
    found = with_client(
        common,
        lambda client: view.of_workspace(
            client.link.views,
            workspace=client.workspace,
            limit=most,
            before=int(before) if before else None,
            common=True,
            **asked,
        ),
    )
    following = str(found[-1].id) if len(found) >= most else None
    if common.json:
        output.items(found, following)
    elif not found:
        output.say("Nothing of that kind is recorded.")
    else:
        show(found, datetime.now(UTC))
        output.say_more(following)


def show(found: Sequence[PlacedEvent], now: datetime) -> None:
    """The table of events."""
    columns = (
        Column("WHEN"),
        Column("WHO", gives=True),
        Column("DID"),
        Column("TO", gives=True),
        Column("REASON", wraps=True),
    )
    cells = [
        (clocks.ago(row.at, now), row.by, row.verb, target(row), words.plain(row.reason or "–"))
        for row in found
    ]
    output.table(columns, cells)


def target(row: PlacedEvent) -> str:
    """What it was done to."""
    if row.run_id is not None:
        return f"{row.job or 'run'} {row.run_id}"
    if row.job is not None:
        return row.job
    named = ("queue", "lock", "hook", "token", "user", "bulk")
    return next((f"{name} {row.detail[name]}" for name in named if name in row.detail), "–")


COMMANDS = {"events": events}
