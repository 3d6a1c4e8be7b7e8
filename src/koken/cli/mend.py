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
from koken.errors import Refused
from koken.model.run import Run
from koken.model.states import State

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, for the record.")]


def cancel(ctx: typer.Context, run: Named, reason: Reason = "") -> None:
    """End a run for good; one that runs is asked to stop."""
    change(ctx.obj, lambda client: cancelled(client, run, reason))


async def cancelled(client: AsyncClient, named: str, reason: str) -> tuple[Run[Any], str]:
    """Cancel, and say what that came to. Raises ``Refused`` for a run that has ended."""
    before: Run[Any] = await client.get(named)
    if before.state.ended:
        raise ended(before)
    after = await client.cancel(before, reason=reason)
    if after.state.ended and after.state is not State.CANCELLED:
        raise ended(after)  # meanwhile
    if not after.state.ended:
        return after, f"asked to stop on {after.worker}; follow it: koken watch {after.id}"
    return after, words.ending(after)


def ended(run: Run[Any]) -> Refused:
    """What is said of a run that nobody can cancel any more."""
    return Refused(f"{run.job} {run.id} has ended already ({run.state})", what=f"run {run.id}")


def retry(
    ctx: typer.Context,
    run: Named,
    args: Annotated[
        str, typer.Option(metavar="JSON", help="Arguments to replace, as a JSON object.")
    ] = "",
    reason: Reason = "",
) -> None:
    """Give an ended run another chance: attempts count from 1 again."""
    common: Common = ctx.obj
    given = json_object(args) if args else None
    before, after = with_client(common, lambda client: retried(client, run, given, reason))
    if common.json:
        output.as_json(after.to_json())
        return
    told = f" is ready again (was {before.state}); follow it: koken watch {before.id}"
    output.say((f"{before.job} {before.id}", "bold"), told)


async def retried(
    client: AsyncClient, named: str, args: dict[str, Any] | None, reason: str
) -> tuple[Run[Any], Run[Any]]:
    """The run before, and how it stands now; a worker may have taken it already."""
    before: Run[Any] = await client.get(named)
    return before, await client.retry(before, args=args, reason=reason)


def acknowledge(ctx: typer.Context, run: Named, reason: Reason = "") -> None:
    """Close a failure that somebody has seen."""

    async def work(client: AsyncClient) -> tuple[Run[Any], str]:
        after: Run[Any] = await client.acknowledge(run, reason=reason)
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
    output.say(output.titled(run), (told, output.style_of(run)))


COMMANDS = {"cancel": cancel, "retry": retry, "acknowledge": acknowledge}
