"""``koken locks unlock``: who has which lock, who waits for it, and how it is taken away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from koken.cli import output
from koken.cli.common import Common
from koken.cli.lists import Limit, checked_limit
from koken.cli.mend import Reason
from koken.cli.output import Column
from koken.cli.place import with_client
from koken.client.awaiting import AsyncClient
from koken.engine import unlock as engine
from koken.engine.unlock import Unlocked
from koken.errors import InvalidArguments
from koken.views import clocks, words
from koken.views import locks as view
from koken.views.locks import Holder, LockRow
from koken.views.query import is_id

Kind = Annotated[
    str,
    typer.Option(
        "--kind",
        metavar="KIND",
        help=f"{', '.join(view.KINDS[:-1])} or {view.KINDS[-1]}; default: any.",
    ),
]


def locks(ctx: typer.Context, limit: Limit = 50, kind: Kind = "") -> None:
    """List locks: who has them, since when, and who waits."""
    common: Common = ctx.obj
    most = checked_limit(limit)
    found = with_client(
        common,
        lambda client: view.locks(
            client.link.views, workspace=client.workspace, kind=kind or None, limit=most
        ),
    )
    if common.json:
        output.items(found)
    elif not found:
        output.say("Nobody holds a lock, and nobody waits for one.")
    else:
        show(found, datetime.now(UTC))


def show(found: Sequence[LockRow], now: datetime) -> None:
    """The table of locks."""
    waiting = sum(row.waiting for row in found)
    wait = "1 run waits" if waiting == 1 else f"{words.capped(waiting)} runs wait"
    output.say(f"{words.counted(len(found), 'lock')}; {wait}.")
    columns = (
        Column("LOCK", gives=True),
        Column("KIND"),
        Column("HELD BY", wraps=True),
        Column("HOW LONG"),
        Column("WAITING", right=True),
    )
    cells = [
        (
            row.key,
            row.kind,
            ", ".join(map(called, row.holders)) or "–",
            clocks.so_long(row.since, now),
            words.capped(row.waiting),
        )
        for row in found
    ]
    output.table(columns, cells)


def called(holder: Holder) -> str:
    """``reduce 412``, with the step that has it."""
    step = f" {holder.step}" if holder.step else ""
    return f"{holder.job} {holder.run_id}{step}"


def unlock(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The lock, as `koken locks` has it.")],
    kind: Kind = "",
    run: Annotated[
        str, typer.Option("--run", metavar="RUN", help="From this run alone, by its number.")
    ] = "",
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Also from a run that goes: it is cancelled; wants --run and a --reason.",
        ),
    ] = False,
    reason: Reason = "",
) -> None:
    """Take a lock from a run that has ended or is gone; it goes to the next in line."""
    common: Common = ctx.obj
    if run and not is_id(run):
        raise InvalidArguments(f"--run: {run!r} is no number of a run")

    async def work(client: AsyncClient) -> Unlocked:
        rows = await view.named(
            client.link.views, key, workspace=client.workspace, kind=kind or None
        )
        if len(rows) > 1:
            kinds = ", ".join(row.kind for row in rows)
            raise InvalidArguments(f"there are several of that key; say --kind: {kinds}")
        return await engine.unlock(
            client.link.db,
            key,
            workspace=client.workspace,
            kind=rows[0].kind,
            run=int(run) if run else None,
            force=force,
            by=client.who,
            reason=reason or None,
        )

    done = with_client(common, work)
    if common.json:
        output.as_json(done.to_json())
        return
    from_whom = ", ".join(f"run {run_id}" for run_id in done.runs)
    output.say(f"Lock {key} is taken from {from_whom}.")
    for run_id in done.stopping:
        output.say(f"Run {run_id} is asked to end and may still be at work: koken watch {run_id}")


COMMANDS = {"locks": locks, "unlock": unlock}
