"""``koken signal answer``: what people say to a run that waits for them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from koken.cli.mend import Reason, change
from koken.cli.show import Named
from koken.client.awaiting import AsyncClient
from koken.define.body import json_or_text
from koken.model.run import Run

Value = Annotated[str, typer.Argument(metavar="VALUE", help="JSON, or simply text.")]


def signal(
    ctx: typer.Context,
    run: Named,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the run waits for.")],
    value: Value = "null",
    reason: Reason = "",
) -> None:
    """Send a signal to a run; one that comes before the run waits for it is kept."""

    async def work(client: AsyncClient) -> tuple[Run[Any], str]:
        after: Run[Any] = await client.signal(run, name, json_or_text(value), reason=reason)
        return after, f"signal {name!r} is sent; the run is {after.state}"

    change(ctx.obj, work)


def answer(
    ctx: typer.Context,
    run: Named,
    value: Value,
    question: Annotated[
        str, typer.Option(metavar="TEXT", help="Which question, when there are several.")
    ] = "",
    reason: Reason = "",
) -> None:
    """Answer the question that a run asks."""

    async def work(client: AsyncClient) -> tuple[Run[Any], str]:
        after: Run[Any] = await client.answer(run, question, json_or_text(value), reason=reason)
        return after, f"answered; the run is {after.state}"

    change(ctx.obj, work)


COMMANDS = {"signal": signal, "answer": answer}
