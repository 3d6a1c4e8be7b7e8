"""``koken cancel retry acknowledge``: what people do to runs, recorded with who and why."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from koken.cli import output, words
from koken.cli.common import Common
from koken.cli.place import with_client
from koken.cli.show import Named
from koken.cli.start import json_object
from koken.client import AsyncClient
from koken.model.run import Run

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")]


def cancel(ctx: typer.Context, run: Named, reason: Reason = "") -> None:
    """End a run for good; one that runs is asked to stop."""
    change(ctx.obj, lambda client: cancelled(client, run, reason))


async def cancelled(client: AsyncClient, named: str, reason: str) -> tuple[Run[Any], str]:
    """Cancel, and say what that came to."""
    before = await client.get(named)
    after = await client.cancel(before, reason=reason)
    if before.state.ended:
        return after, f"was {before.state} already; nothing to cancel"
    if not after.state.ended:
        return after, f"was asked to stop on {after.worker}. Follow it: koken watch {after.id}"
    return after, words.ending(after)


def retry(
    ctx: typer.Context,
    run: Named,
    args: Annotated[
        str, typer.Option(metavar="JSON", help="Arguments to replace, as a JSON object.")
    ] = "",
    reason: Reason = "",
) -> None:
    """Give an ended run another chance: attempts count from 1 again."""
    given = json_object(args) if args else None

    async def work(client: AsyncClient) -> tuple[Run[Any], str]:
        after = await client.retry(run, args=given, reason=reason)
        return after, f"{words.word(after)} again. Follow it: koken watch {after.id}"

    change(ctx.obj, work)


def acknowledge(ctx: typer.Context, run: Named, reason: Reason = "") -> None:
    """Close a failure that somebody has seen."""

    async def work(client: AsyncClient) -> tuple[Run[Any], str]:
        after = await client.acknowledge(run, reason=reason)
        return after, words.standing(after, datetime.now(UTC))

    change(ctx.obj, work)


def change(
    common: Common, work: Callable[[AsyncClient], Coroutine[Any, Any, tuple[Run[Any], str]]]
) -> None:
    """Carry out a change of a run and say in a line what it came to."""
    run, told = with_client(common, work)
    if common.json:
        output.as_json(run.to_json())
        return
    output.say(output.titled(run), (told, output.style_of(run)), f" Recorded: {common.who}.")


COMMANDS = {"cancel": cancel, "retry": retry, "acknowledge": acknowledge}
