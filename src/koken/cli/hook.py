"""``koken hook``: addresses under which other systems start a job, by signed calls."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from koken.cli import output
from koken.cli.common import Common
from koken.cli.mend import Reason
from koken.cli.output import Column
from koken.cli.place import place, with_client
from koken.client.awaiting import AsyncClient
from koken.engine import hooks as engine
from koken.errors import InvalidArguments
from koken.model.hooks import SCHEMES
from koken.views import hooks as view
from koken.views import words

VERBS = ("list", "add", "rotate", "remove")
COLUMNS = (
    Column("HOOK"),
    Column("JOB", gives=True),
    Column("WORKSPACE", gives=True),
    Column("SCHEME"),
    Column("BODY"),
    Column("LAST USED"),
)


def hook(
    ctx: typer.Context,
    verb: Annotated[str, typer.Argument(metavar="[list|add|rotate|remove]")] = "list",
    name: Annotated[str, typer.Argument(metavar="[NAME]")] = "",
    job: Annotated[
        str, typer.Option("--job", metavar="JOB", help="With add: what it starts.")
    ] = "",
    argument: Annotated[
        str,
        typer.Option(metavar="NAME", help="With add: the argument that gets the whole body."),
    ] = "",
    scheme: Annotated[
        str, typer.Option(metavar="SCHEME", help="With add: standard (the default) or github.")
    ] = SCHEMES[0],
    reason: Reason = "",
) -> None:
    """List hooks, or add one, give it a new secret, or remove it."""
    common: Common = ctx.obj
    if verb not in VERBS:
        raise InvalidArguments(f"{verb!r} is none of {', '.join(VERBS)}")
    if verb == "list":
        show(common)
        return
    if not name:
        raise InvalidArguments(f"say which: koken hook {verb} NAME")
    if verb == "add" and not job:
        raise InvalidArguments(f"say what it starts: koken hook add {name} --job JOB")
    why = reason or None

    async def work(client: AsyncClient) -> str:
        db, by = client.link.db, client.who
        if verb == "rotate":
            return await engine.rotate(db, name, by=by, reason=why)
        if verb == "remove":
            await engine.remove(db, name, by=by, reason=why)
            return ""
        return await engine.add(
            db,
            name,
            job,
            workspace=client.workspace,
            scheme=scheme,
            argument=argument or None,
            by=by,
            reason=why,
        )

    secret = with_client(common, work)
    if common.json:
        output.as_json({"name": name, "secret": secret or None})
    elif verb == "remove":
        output.say(f"Hook {name} is removed; calls to it are refused.")
    else:
        tell(common, name, secret)


def tell(common: Common, name: str, secret: str) -> None:
    """Where calls go, and with which secret they are signed."""
    url = place(common).config.web.url or "http://THIS-HOST:7070"
    output.say(f"Calls go to {url}/api/v1/hooks/{name}")
    output.say(f"Secret: {secret}")
    output.say(("It is not shown again; `koken hook rotate` makes another.", output.DIM))


def show(common: Common) -> None:
    """All hooks."""
    found = with_client(common, lambda client: view.hooks(client.link.views))
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
                words.ago(row.last_used_at, now),
            )
            for row in found
        ]
        output.table(COLUMNS, cells)


COMMANDS = {"hook": hook}
