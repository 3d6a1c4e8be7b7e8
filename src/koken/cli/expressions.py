"""``koken next``: when an expression is due. Pure; needs neither app nor database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from koken.cli.common import Common
from koken.errors import InvalidArguments
from koken.model.instants import with_offset
from koken.model.upcoming import times, understood
from koken.views.clocks import ago
from koken.views.words import dump

MOST = 1000


def next_times(
    ctx: typer.Context,
    text: Annotated[
        str,
        typer.Argument(
            metavar="EXPRESSION", help="Cron, English, an interval, or EventBridge's forms."
        ),
    ],
    timezone: Annotated[
        str, typer.Option(metavar="TZ", help="An IANA name, such as Europe/Berlin; default: UTC.")
    ] = "",
    after: Annotated[
        str, typer.Option(metavar="INSTANT", help="Times after this one; default: now.")
    ] = "",
    number: Annotated[int, typer.Option("-n", metavar="N", help="How many times.")] = 5,
) -> None:
    """Say when an expression is due next."""
    common: Common = ctx.obj
    if not 1 <= number <= MOST:
        raise InvalidArguments(f"-n is {number}; it is between 1 and {MOST:,}")
    found = understood(text, timezone, "--timezone")
    now = datetime.now(UTC)
    due = times(found, with_offset(after, "--after") if after else now, number)
    if common.json:
        items = [each.isoformat() for each in due]
        print(dump({"words": found.in_words(), "timezone": found.timezone, "items": items}))
        return
    print(found.in_words())
    for each in due:
        print(f"{each:%Y-%m-%d %H:%M:%S} {each.tzname()}  {ago(each, now)}")
    if len(due) < number:
        print("and never again" if due else "never")


COMMANDS = {"next": next_times}
