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
from koken.client.awaiting import AsyncClient
from koken.model.run import Run

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")]


def cancel(ctx: typer.Context, run: Named, reason: Reason = "") -> None:
    """End a run for good; one that runs is asked to stop."""
    change(ctx.obj, lambda client: cancelled(client, run, reason))


async def cancelled(client: AsyncClient, named: str, reason: str) -> tuple[Run[Any], str]:
    """Cancel, and say what that came to."""
    before: Run[Any] = await client.get(named)
    after = await client.cancel(before, reason=reason)
    if before.state.ended:
        return after, f"{before.state} already; nothing to cancel"
    if not after.state.ended:
        told = f"asked to stop on {after.worker}; follow it: koken watch {after.id}"
        return after, recorded(client, told)
    return after, recorded(client, words.ending(after))


def recorded(client: AsyncClient, told: str) -> str:
    """What was done, and in whose name it is recorded."""
    return f"{told.rstrip('.')}. Recorded: {client.who}."


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
        after: Run[Any] = await client.retry(run, args=given, reason=reason)
        told = f"{words.word(after)} again; follow it: koken watch {after.id}"
        return after, recorded(client, told)

    change(ctx.obj, work)


def acknowledge(ctx: typer.Context, run: Named, reason: Reason = "") -> None:
    """Close a failure that somebody has seen."""

    async def work(client: AsyncClient) -> tuple[Run[Any], str]:
        after: Run[Any] = await client.acknowledge(run, reason=reason)
        return after, recorded(client, words.standing(after, datetime.now(UTC)))

    change(ctx.obj, work)


def change(
    common: Common, work: Callable[[AsyncClient], Coroutine[Any, Any, tuple[Run[Any], str]]]
) -> None:
    """Carry out a change of a run and say in a line what it came to."""
    run, told = with_client(common, work)
    if common.json:
        output.as_json(run.to_json())
        return
    output.say(output.titled(run), (told, output.style_of(run)))


COMMANDS = {"cancel": cancel, "retry": retry, "acknowledge": acknowledge}
