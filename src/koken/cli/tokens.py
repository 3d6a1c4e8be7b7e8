"""``koken token``: the keys of programs. The terminal may make any."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from koken.cli import output
from koken.cli.access import in_words, narrowed, place_of, tell, where
from koken.cli.common import Common
from koken.cli.follow import length
from koken.cli.mend import Reason
from koken.cli.output import Column
from koken.cli.place import with_client
from koken.engine import tokens
from koken.model.rights import Right
from koken.views import access as views
from koken.views import clocks


def make_token(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="For whom or what it is.")],
    may: Annotated[
        list[str] | None,
        typer.Option("--may", metavar="RIGHT", help=f"{', '.join(Right)}; again for several."),
    ] = None,
    expires: Annotated[
        str, typer.Option(metavar="TIME", help="After how long it is good no more: 90d.")
    ] = "",
    reason: Reason = "",
) -> None:
    """Make a token for a program; it is printed this once."""
    common: Common = ctx.obj
    lifetime = length(expires, "--expires") if expires else None
    made = with_client(
        common,
        lambda client: tokens.make(
            client.link.db,
            name,
            may or ["read"],
            workspace=place_of(common),
            seconds=lifetime,
            by=client.who,
            reason=reason,
        ),
    )
    if common.json:
        output.as_json(made.to_json())
    else:
        output.say(made.token)
        print(
            f"koken: {name} may {' and '.join(made.rights)} {in_words(common)}. "
            "The token is shown this once.",
            file=sys.stderr,
        )


def revoke_token(
    ctx: typer.Context,
    named: Annotated[str, typer.Argument(metavar="NAME", help="Its name, or its number.")],
    reason: Reason = "",
) -> None:
    """End a token: it is refused within seconds."""
    common: Common = ctx.obj
    name = with_client(
        common,
        lambda client: tokens.revoke(
            client.link.db, named, workspace=common.workspace or None, by=client.who, reason=reason
        ),
    )
    tell(common, {"token": name, "revoked": True}, f"Token {name} is revoked.")


def list_tokens(
    ctx: typer.Context,
    revoked: Annotated[
        bool, typer.Option("--revoked", help="Those too that were revoked.")
    ] = False,
) -> None:
    """List the tokens: what they may do, and when they were used."""
    common: Common = ctx.obj
    found = with_client(
        common,
        lambda client: views.tokens(client.link.views, narrowed(common), revoked=revoked),
    )
    if common.json:
        output.items(found)
    elif not found:
        output.say("No tokens yet. One is made by: koken token add NAME --may start")
    else:
        now = datetime.now(UTC)
        titles = ("NAME", "BEGINS", "MAY", "WHERE", "USED", "EXPIRES", "MADE")
        columns = [Column(title, gives=title in ("NAME", "MADE")) for title in titles]
        output.table(
            columns,
            [
                (
                    row.name,
                    row.hint,
                    " ".join(row.rights),
                    where(row.workspace),
                    clocks.ago(row.last_used_at, now),
                    row.standing
                    if row.standing != "good"
                    else clocks.due(row.expires_at, now)
                    if row.expires_at
                    else "never",
                    f"{clocks.ago(row.created_at, now)} by {row.created_by}",
                )
                for row in found
            ],
        )


COMMANDS = {"token": {"add": make_token, "revoke": revoke_token, "list": list_tokens}}
