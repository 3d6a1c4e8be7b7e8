"""``koken queues`` and ``koken workers``: where work is carried out, and how full it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from koken.cli import output
from koken.cli.common import Common
from koken.cli.output import Column
from koken.cli.place import with_client
from koken.model.states import State
from koken.views import clocks, floor, words
from koken.views.findings import taken
from koken.views.floor import QueueRow, WorkerRow

FULL = "▲"
STANDINGS = {
    "live": ("●", "green"),
    "draining": ("◔", "magenta"),
    "suspect": ("◌", "yellow"),
    "lost": (State.FAILED.glyph, "bold red"),
    "stopped": ("–", "bright_black"),
}


def queues(ctx: typer.Context) -> None:
    """List the queues: what runs, what waits, their limits."""
    common: Common = ctx.obj
    found = with_client(common, lambda client: floor.queues(client.link.views))
    if common.json:
        output.items(found)
    elif not found:
        output.say("No queues yet; the first job or worker that names one makes it.")
    else:
        show_queues(found, datetime.now(UTC))


def show_queues(found: Sequence[QueueRow], now: datetime) -> None:
    """The table of queues."""
    running = words.capped(sum(row.running for row in found))
    ready = words.capped(sum(row.ready for row in found))
    output.say(f"{words.counted(len(found), 'queue')}: {running} running, {ready} ready.")
    columns = (
        Column("QUEUE", gives=True),
        *(Column(title, right=True) for title in ("RUNNING", "READY", "SLOTS", "LIMIT", "RATE")),
        Column("PAUSED", gives=True),
    )
    output.table(
        columns,
        [
            (
                row.name,
                words.capped(row.running),
                Text(f"{FULL} {words.capped(row.ready)}", "yellow")
                if row.full
                else words.capped(row.ready),
                str(row.slots),
                "–" if row.max_running is None else str(row.max_running),
                words.rate(row.rate) or "–",
                paused(row, now),
            )
            for row in found
        ],
    )
    for row in found:
        if row.full:
            output.say(f"{FULL} {taken(row)}")


def paused(row: QueueRow, now: datetime) -> str:
    """By whom and why a queue is paused."""
    if row.paused_at is None:
        return "–"
    reason = f": {row.pause_reason}" if row.pause_reason else ""
    return f"{clocks.ago(row.paused_at, now)} by {row.paused_by}{reason}"


def workers(
    ctx: typer.Context,
    gone: Annotated[
        bool, typer.Option("--gone", help="Those that have left or were lost too.")
    ] = False,
) -> None:
    """List the workers: how they are and how full."""
    common: Common = ctx.obj
    found = with_client(common, lambda client: floor.workers(client.link.views, gone=gone))
    if common.json:
        output.items(found)
    elif not found:
        output.say("No worker is alive. Start one: koken worker.")
    else:
        show_workers(found, datetime.now(UTC))


def show_workers(found: Sequence[WorkerRow], now: datetime) -> None:
    """The table of workers."""
    live = [row for row in found if row.standing == "live"]
    busy, slots = sum(row.busy for row in live), sum(row.slots for row in live)
    output.say(f"{words.counted(len(live), 'live worker')}: {busy} of {slots} slots are taken.")
    columns = (
        Column("WORKER", right=True),
        Column("NAME", gives=True),
        Column("STANDING"),
        Column("BUSY", right=True),
        Column("QUEUES", wraps=True),
        Column("BEAT"),
        Column("STARTED"),
        Column("VERSION"),
    )
    output.table(columns, [worker_cells(row, now) for row in found])


def worker_cells(row: WorkerRow, now: datetime) -> tuple[Text | str, ...]:
    """One worker."""
    glyph, style = STANDINGS[row.standing]
    return (
        str(row.id),
        row.name,
        Text(f"{glyph} {row.standing}", style),
        f"{row.busy}/{row.slots}",
        " ".join(f"{name}:{slots}" for name, slots in row.queues.items()),
        f"{clocks.roughly(max(row.silent_for, 0))} ago",
        clocks.ago(row.started_at, now),
        row.version,
    )


COMMANDS = {"queues": queues, "workers": workers}
