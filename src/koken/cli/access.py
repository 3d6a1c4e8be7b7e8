"""``koken user``: who may come in. The terminal may do all of it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from koken.cli import output
from koken.cli.common import Common
from koken.cli.doors import serving
from koken.cli.mend import Reason
from koken.cli.output import Column
from koken.cli.place import with_client
from koken.client.awaiting import AsyncClient
from koken.engine import access, sessions
from koken.engine.holds import refuse_to_give
from koken.errors import InvalidArguments
from koken.model.rights import EVERYWHERE, ROLES, Membership
from koken.views import access as views
from koken.views import clocks

UserName = Annotated[str, typer.Argument(metavar="NAME", help="As they sign in.")]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input.")
]


def add(
    ctx: typer.Context,
    name: UserName,
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE",
            help=f"{', '.join(ROLES)}: in --workspace, or everywhere.",
        ),
    ] = "",
    password_stdin: FromStdin = False,
    reason: Reason = "",
) -> None:
    """Let somebody sign in, with a password and a role."""
    common: Common = ctx.obj
    if role:
        refuse_to_give(None, role, place_of(common))
    access.check_name(name, "a user")
    hashed = hashed_password(name, password_stdin)
    added = with_client(
        common,
        lambda client: access.add_user(
            client.link.db,
            name,
            hashed,
            role=role,
            workspace=place_of(common),
            by=client.who,
            reason=reason,
        ),
    )
    told = f", as {role} {in_words(common)}." if role else "; no role yet."
    tell(common, added.to_json(), f"{name} may sign in{told}")


def password(
    ctx: typer.Context, name: UserName, password_stdin: FromStdin = False, reason: Reason = ""
) -> None:
    """Give somebody another password; where they are signed in, that ends."""
    hashed = hashed_password(name, password_stdin)
    change(
        ctx.obj,
        lambda client: access.set_password(
            client.link.db, name, hashed, by=client.who, reason=reason
        ),
        {"user": name},
        f"{name} has another password, and signs in anew.",
    )


def disable(ctx: typer.Context, name: UserName, reason: Reason = "") -> None:
    """Let somebody in no more; where they are signed in, that ends at once."""
    change(
        ctx.obj,
        lambda client: access.disable(client.link.db, name, by=client.who, reason=reason),
        {"user": name, "disabled": True},
        f"{name} is let in no more. Tokens that they made go on: koken token list",
    )


def enable(ctx: typer.Context, name: UserName, reason: Reason = "") -> None:
    """Let somebody in again."""
    change(
        ctx.obj,
        lambda client: access.enable(client.link.db, name, by=client.who, reason=reason),
        {"user": name, "disabled": False},
        f"{name} may sign in again.",
    )


def role(
    ctx: typer.Context,
    name: UserName,
    role: Annotated[str, typer.Argument(metavar="ROLE", help=f"{', '.join(ROLES)}, or none.")],
    reason: Reason = "",
) -> None:
    """Say what somebody may do in --workspace, or everywhere."""
    common: Common = ctx.obj
    place = place_of(common)
    taken = role == "none"

    async def work(client: AsyncClient) -> Membership:
        db, by = client.link.db, client.who
        if taken:
            return await access.take_role(db, name, workspace=place, by=by, reason=reason)
        return await access.give_role(db, name, role, workspace=place, by=by, reason=reason)

    now = with_client(common, work)
    told = f"{now.user} has no role any more" if taken else f"{now.user} is {role}"
    tell(common, now.to_json(), f"{told} {in_words(common)}.")


def list_users(ctx: typer.Context) -> None:
    """List who may sign in, and what they may do where."""
    common: Common = ctx.obj
    found = with_client(common, lambda client: views.users(client.link.views, narrowed(common)))
    if common.json:
        output.items(found)
    elif not found:
        output.say("No users yet. The first: koken user add NAME --role admin")
    else:
        now = datetime.now(UTC)
        columns = (
            Column("NAME", gives=True),
            Column("ROLES", wraps=True),
            Column("SIGNED IN"),
            Column("BROWSERS", right=True),
            Column("BY", gives=True),
        )
        output.table(
            columns,
            [
                (
                    row.name,
                    ", ".join(f"{role} {where(at)}" for at, role in row.roles.items()) or "none",
                    "disabled" if row.disabled_at else clocks.ago(row.signed_in_at, now),
                    str(row.sessions),
                    row.issuer or "password",
                )
                for row in found
            ],
        )


def sign_out(ctx: typer.Context, name: UserName, reason: Reason = "") -> None:
    """End all sessions of somebody; they may sign in anew."""
    ended = with_client(
        ctx.obj,
        lambda client: sessions.end(client.link.db, name, by=client.who, reason=reason),
    )
    tell(ctx.obj, ended.to_json(), f"{ended.user} is signed in nowhere now.")


def change(
    common: Common,
    work: Callable[[AsyncClient], Coroutine[Any, Any, Any]],
    plain: Mapping[str, Any],
    told: str,
) -> None:
    """Do it, and say so."""
    with_client(common, work)
    tell(common, plain, told)


def tell(common: Common, plain: Mapping[str, Any], told: str) -> None:
    """Say what was done."""
    if common.json:
        output.as_json(plain)
    else:
        output.say(told)


def hashed_password(name: str, from_stdin: bool) -> str:
    """A password that somebody types or sends, as it is kept."""
    serving()  # says what to install where the extra is missing
    passwords = importlib.import_module("koken.web.access.passwords")
    if from_stdin:
        given = sys.stdin.readline().rstrip("\r\n")
    elif sys.stdin.isatty():
        given = typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True)
    else:
        raise InvalidArguments("there is no terminal to type a password at; use --password-stdin")
    hashed: str = passwords.hashed(given, name)
    return hashed


def place_of(common: Common) -> str:
    """The workspace that the command line names, else every one."""
    return common.workspace or EVERYWHERE


def narrowed(common: Common) -> list[str] | None:
    """The workspaces that a list is about; None: all."""
    return [common.workspace] if common.workspace else None


def in_words(common: Common) -> str:
    """``everywhere`` or ``in acme``."""
    return where(place_of(common))


def where(workspace: str) -> str:
    """``everywhere`` or ``in acme``."""
    return "everywhere" if workspace == EVERYWHERE else f"in {workspace}"


COMMANDS = {
    "user": {
        "add": add,
        "password": password,
        "role": role,
        "disable": disable,
        "enable": enable,
        "sign-out": sign_out,
        "list": list_users,
    },
}
