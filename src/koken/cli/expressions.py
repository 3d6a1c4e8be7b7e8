"""``koken next``: when an expression is due. Pure; needs neither app nor database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from koken.cli.common import Common
from koken.cli.words import ago, dump
from koken.errors import InvalidArguments
from koken.model import expression, zones
from koken.model.expression import Expression

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
    found = understood(text, timezone)
    now = datetime.now(UTC)
    due = times(found, instant(after, "--after") if after else now, number)
    if common.json:
        print(dump([each.isoformat() for each in due]))
        return
    print(found.in_words())
    for each in due:
        print(f"{each:%Y-%m-%d %H:%M:%S} {each.tzname()}  {ago(each, now)}")
    if len(due) < number:
        print("and never again" if due else "never")


def understood(text: str, timezone: str) -> Expression:
    """An expression in a zone. Raises ``InvalidArguments`` when it names another one itself."""
    found = expression.parse(text, timezone or "UTC")
    if timezone and found.names_zone and found.timezone != timezone:
        raise InvalidArguments(
            f"{text!r} names {found.timezone}, and --timezone is {timezone!r}. Keep one of them"
        )
    return found


def times(found: Expression, after: datetime, number: int) -> list[datetime]:
    """The first due times after an instant."""
    due: list[datetime] = []
    while len(due) < number:
        following = found.next(due[-1] if due else after)
        if following is None:
            break
        due.append(following)
    return due


def instant(text: str, option: str) -> datetime:
    """An instant from the command line. Raises ``InvalidArguments``."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArguments(
            f"{option} is {text!r}; write it as 2026-03-08T00:00:00-05:00"
        ) from None
    if found.utcoffset() is None:
        raise InvalidArguments(
            f"{option} {text!r} has no time zone; add one, such as {found.isoformat()}+00:00"
        )
    try:
        return zones.within_years(found)
    except ValueError as error:
        raise InvalidArguments(f"{option}: {error}") from None


COMMANDS = {"next": next_times}
