"""``koken hook``: addresses under which other systems start a job, by signed calls."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from koken.cli import output
from koken.cli.access import change, narrowed
from koken.cli.common import Common
from koken.cli.mend import Reason
from koken.cli.output import Column
from koken.cli.place import place, with_client
from koken.client.awaiting import AsyncClient
from koken.engine import hooks as engine
from koken.errors import InvalidArguments
from koken.model.hooks import SCHEMES, NewSecret
from koken.views import clocks
from koken.views import hooks as view

COLUMNS = (
    Column("HOOK"),
    Column("JOB", gives=True),
    Column("WORKSPACE", gives=True),
    Column("SCHEME"),
    Column("BODY"),
    Column("LAST USED"),
)


NOWHERE = "http://THIS-HOST:7070"
"""Where calls go, as long as nobody has said."""
HookName = Annotated[str, typer.Argument(metavar="NAME", help="As in the address.")]


def add_hook(
    ctx: typer.Context,
    name: HookName,
    job: Annotated[str, typer.Option("--job", metavar="JOB", help="What it starts.")] = "",
    argument: Annotated[
        str, typer.Option(metavar="NAME", help="The argument that gets the whole body.")
    ] = "",
    scheme: Annotated[
        str, typer.Option(metavar="SCHEME", help="standard (the default) or github.")
    ] = SCHEMES[0],
    reason: Reason = "",
) -> None:
    """Add a hook that starts a job; its secret is printed this once."""
    common: Common = ctx.obj
    if not job:
        raise InvalidArguments(f"say what it starts: koken hook add {name} --job JOB")

    async def work(client: AsyncClient) -> NewSecret:
        link = client.link
        if job in link.registry:
            await link.publish(link.registry.get(job), client.who)
        return await engine.add(
            link.db,
            name,
            job,
            workspace=client.workspace,
            scheme=scheme,
            argument=argument or None,
            by=client.who,
            reason=reason or None,
        )

    tell(common, with_client(common, work))


def rotate_hook(ctx: typer.Context, name: HookName, reason: Reason = "") -> None:
    """Give a hook a new secret, which is printed this once; the old one is good no more."""
    common: Common = ctx.obj
    new = with_client(
        common,
        lambda client: engine.rotate(
            client.link.db,
            name,
            workspace=common.workspace or None,
            by=client.who,
            reason=reason or None,
        ),
    )
    tell(common, new)


def remove_hook(ctx: typer.Context, name: HookName, reason: Reason = "") -> None:
    """Remove a hook; calls to it are refused from now on."""
    common: Common = ctx.obj
    change(
        common,
        lambda client: engine.remove(
            client.link.db,
            name,
            workspace=common.workspace or None,
            by=client.who,
            reason=reason or None,
        ),
        {"name": name, "secret": None},
        f"Hook {name} is removed; calls to it are refused.",
    )


def tell(common: Common, new: NewSecret) -> None:
    """Where calls go, and with which secret they are signed."""
    base = place(common).config.web.url
    if common.json:
        output.as_json(new.to_json(base))
        return
    output.say(f"Calls go to {new.url(base or NOWHERE)}")
    if not base:
        output.say(("Where that is nobody has said: set url in [web] of koken.toml.", output.DIM))
    output.say(f"Secret: {new.secret}")
    output.say(("It is not shown again; `koken hook rotate` makes another.", output.DIM))


def list_hooks(ctx: typer.Context) -> None:
    """List the hooks: what they start, and when they were used."""
    common: Common = ctx.obj
    found = with_client(common, lambda client: view.hooks(client.link.views, narrowed(common)))
    if common.json:
        output.items(found)
    elif not found:
        output.say("No hooks. Add one: koken hook add NAME --job JOB")
    else:
        now = datetime.now(UTC)
        cells = [
            (
                row.name,
                row.job,
                row.workspace,
                row.scheme,
                row.argument or "fields",
                clocks.ago(row.last_used_at, now),
            )
            for row in found
        ]
        output.table(COLUMNS, cells)


COMMANDS = {
    "hook": {"add": add_hook, "rotate": rotate_hook, "remove": remove_hook, "list": list_hooks}
}
